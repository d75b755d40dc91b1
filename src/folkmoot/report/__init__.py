"""Pictures and pages of results that other layers computed."""
