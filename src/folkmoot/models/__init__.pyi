from .files import FileModel as FileModel
from .openai import OpenAIModel as OpenAIModel
from .remote import ModelAnswer as ModelAnswer
from .rows import HTTPModel as HTTPModel
from .usage import Usage as Usage

__all__ = ["FileModel", "HTTPModel", "ModelAnswer", "OpenAIModel", "Usage"]
