"""How Sphinx makes the site of these pages: ``make docs`` writes it to docs/_build/html (CONTRIBUTING.md).

_ext has what is made from the code itself: the Python API, the command line, HTTP, metrics, measurements.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["OMP_NUM_THREADS"] = "1"  # notebooks and examples are small: threads would wait for each other
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"]]
)  # folkmoot, in notebooks
os.environ.setdefault(
    "PYDEVD_DISABLE_FILE_VALIDATION", "1"
)  # a kernel would warn on the page about frozen modules
# The kernels' profile is ours, not the user's: without start-up files, and without the warning that they
# listen on loopback unencrypted.
PROFILE = HERE / "_build" / "ipython" / "profile_default"
PROFILE.mkdir(parents=True, exist_ok=True)
(PROFILE / "ipython_kernel_config.py").write_text('c.IPKernelApp.log_level = "ERROR"\n')
os.environ["IPYTHONDIR"] = str(PROFILE.parent)

import outside
from folkmoot import __version__

project = "folkmoot"
author = "The folkmoot developers"
project_copyright = "The folkmoot developers, Apache-2.0"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "mathml",
    "page_lists",
    "embedded_talk",
    "public_api",
    "command_line",
    "http_paths",
    "metrics_table",
    "measured",
    "search_excerpts",
    "shown_output",
]
exclude_patterns = ["_build", "_ext", "README.md", "gallery/*.ipynb"]
root_doc = "index"
highlight_language = "none"
nitpicky = True
intersphinx_mapping = outside.mapping()
nitpick_ignore = [(role, name) for _, role, name, page in outside.names() if page == "-"]
copybutton_prompt_text = "$ "  # only what is typed is copied
copybutton_selector = "div:not(.output) > div.highlight pre"

# ---- pages and notebooks -----------------------------------------------------------------------

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 900  # a limit against hanging: a busy machine is no mistake of a page
nb_ipywidgets_js: dict[str, Any] = {}  # no script from elsewhere
nb_merge_streams = True

# ---- the Python API ----------------------------------------------------------------------------

autodoc_typehints = "none"  # the docstrings say the types
autosummary_generate = False  # public_api writes the pages
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # what public_api does not name is not linked

# ---- the gallery -------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "image_scrapers": ("pictures_of_examples.found_picture",),
    "reset_argv": "pictures_of_examples.argument",
    "reset_modules": (),
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 20,
    "write_computation_times": False,
    "remove_config_comments": True,
    "show_signature": False,
    "notebook_images": False,
    "within_subsection_order": "ExampleTitleSortKey",
}

# ---- how it looks ------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"folkmoot {version}"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # would read other pages, which a browser refuses from file://
html_math_renderer = "mathml"
html_search_scorer = str(HERE / "_ext" / "scorer.js")
html_theme_options = {
    "logo": {"text": f"folkmoot {version}"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "external_links": [
        {"name": "The paper", "url": "https://arxiv.org/abs/2402.16157"},
        {"name": "Avalanche", "url": "https://arxiv.org/abs/1906.08936"},
    ],
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 9,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}
toc_object_entries_show_parents = "hide"
