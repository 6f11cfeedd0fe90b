from .options import ViewOptions as ViewOptions
from .server import serve as serve
