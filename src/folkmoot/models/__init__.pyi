from .files import FileModel as FileModel
from .openai import OpenAIModel as OpenAIModel
from .rows import HTTPModel as HTTPModel

__all__ = ["FileModel", "HTTPModel", "OpenAIModel"]
