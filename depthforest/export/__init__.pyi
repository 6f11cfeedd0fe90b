from .header import export_c as export_c
from .wasm import export_page as export_page
from .wasm import export_wasm as export_wasm
