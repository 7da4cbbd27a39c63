// Pyodide refuses to start where importScripts works; here everything is in one file, and the policy refuses importScripts anyway.
self.importScripts = undefined;
