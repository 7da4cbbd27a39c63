"""Compile a trimmed standard library into a zip of .pyc files. Runs inside Pyodide, for whose Python the files are.

web/compile.mjs calls it. Nothing in the zip is compressed (the whole runtime is, once) and nothing in it depends on the time or the machine.
"""

import io
import marshal
import re
import zipfile
from importlib.util import MAGIC_NUMBER
from pathlib import Path

# What a snippet of the page cannot use (processes, terminals, servers, other systems) or never needs (tests, tools, old encodings).
# A snippet that imports it is told so in a sentence; the tests run every snippet in what is left.
LEFT_OUT = re.compile(
    r"""(_pyrepl|__phello__|ctypes|email|http|multiprocessing|site-packages|sqlite3|unittest|wsgiref|xml|xmlrpc|zoneinfo|
        concurrent/interpreters|importlib/(metadata|resources)|pyodide/http)/
    |(html/parser|logging/(config|handlers)|pyodide/(console|_nodesock_transport)|urllib/(request|response|robotparser|error)|
        asyncio/(proactor_events|windows_\w+|tools)|importlib/_bootstrap\w*|.*/__main__|
        __hello__|_pyio|_sysconfigdata_.*|antigravity|bdb|cProfile|cmd|code|compileall|configparser|doctest|fileinput|ftplib|getpass|imaplib|
        ipaddress|mailbox|mimetypes|modulefinder|netrc|nturl2path|optparse|pdb|pickletools|plistlib|poplib|profile|pstats|pty|py_compile|
        pyclbr|pydoc|rlcompleter|smtplib|socketserver|sre_\w+|symtable|tabnanny|tarfile|this|trace|tty|uuid|wave|webbrowser|zipapp|
        encodings/(big5\w+|cp(?!437|1252)\w+|euc_\w+|hp_roman8|iso2022_\w+|iso8859_(?!1\b)\w+|johab|koi8_\w+|kz1048|mac_\w+|mbcs|oem|
            palmos|ptcp154|shift_jis\w*|tis_620|_win_cp_codecs)
    )\.py$""",
    re.VERBOSE,
)
PYODIDES_OWN = ("_pyodide/", "pyodide/")  # their docstrings are read at the start
UNCHECKED = 1  # the flag in the header of a .pyc whose source is not looked for


def compiled(library: Path, added: dict[str, str]) -> bytes:
    """Give the library as a zip of .pyc files, without docstrings and what is left out, and with these modules, name to source."""
    with zipfile.ZipFile(library) as given:
        names = [name for name in given.namelist() if name.endswith(".py") and not LEFT_OUT.match(name)]
        sources = {name: given.read(name).decode() for name in names} | {f"{name}.py": source for name, source in added.items()}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name in sorted(sources):
            optimize = 0 if name.startswith(PYODIDES_OWN) else 2
            code = compile(sources[name], f"/lib/{name}", "exec", dont_inherit=True, optimize=optimize)
            header = MAGIC_NUMBER + UNCHECKED.to_bytes(4, "little") + bytes(8)
            made.writestr(zipfile.ZipInfo(f"{name}c", (1980, 1, 1, 0, 0, 0)), header + marshal.dumps(code))
    return target.getvalue()
