"""A site of links with known verdicts: every kind of mistake and of false alarm that needs no network.

Each case is one page; `expected` holds exactly the addresses that a checker should see in it. An address without a scheme
is below the site's root, which is a sub-path of its host: ROOT. ORIGIN in the markup stands for that host.
"""

from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

ROOT = "/repo/"
OK, REDIRECTED, BROKEN, UNCHECKED = "ok", "redirected", "broken", "unchecked"

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><symbol id="icon"><path d="M0 0h9v9z"/></symbol><g id="部件"/></svg>'


class Case(NamedTuple):
    """One page: the kind that it is about, its name, its head and body, and what is to be found in it."""

    kind: int
    name: str
    body: str
    expected: dict[str, str]
    head: str = ""
    encoding: str = "utf-8"
    file: str = ""

    @property
    def page(self) -> str:
        """The file of the case, at the root of the site unless the case says where."""
        return self.file or f"case-{self.kind}-{self.name}.html"

    def html(self) -> str:
        """Return the whole page."""
        meta = "" if self.encoding == "none" else f'<meta charset="{self.encoding}">'
        return f"<!doctype html><html><head>{meta}<title>{self.name}</title>{self.head}</head><body>{self.body}</body></html>"


def links(*addresses: str) -> str:
    """Return a body with one link for each address, as written."""
    return "\n".join(f'<a href="{address}">link</a>' for address in addresses)


HAN = "共享内存"
HAN_UPPER = quote(HAN)
HAN_LOWER = HAN_UPPER.lower()
NFC, NFD = "caf\u00e9", "cafe\u0301"
WIDE = "Ａ１"
EMOJI = "🚀-start"

FILES: dict[str, str | bytes] = {
    "index.html": "<!doctype html><title>front</title><h1 id=front>front</h1>",
    "404.html": "<!doctype html><title>404</title>",
    "guide/index.html": f"""<!doctype html><meta charset=utf-8><title>guide</title><h1 id=start>x</h1><a name=old-name></a><p name=no-anchor>
        <h2 id="{HAN}">x</h2><h2 id="%E5%8E%9F%E7%90%86">literal</h2><h2 id="a b">x</h2><h2 id="{EMOJI}">x</h2><h2 id="{NFC}">x</h2>
        <h2 id="{WIDE}">x</h2><h2 id="C++">x</h2><h2 id="50%">x</h2><h2 id="%2541">x</h2><h2 id='q"q'>x</h2><h2 id="Case">x</h2>
        <h2 id="user-content-readme">x</h2><template><i id=inert></i></template><noscript><i id=unscripted></i></noscript>
        <!-- <i id=commented></i> --><svg><g id=drawn /></svg><textarea><i id=typed></i></textarea><i id="a&amp;b"></i><i id="&#x4E2D;"></i>""",
    "page.html": "<!doctype html><title>page</title><h1 id=one>x</h1>",
    "both.html": "<!doctype html><title>both</title><h1 id=file>x</h1>",
    "both/index.html": "<!doctype html><title>both</title><h1 id=folder>x</h1>",
    "bare/data.txt": "no index here",
    "deep/er/index.html": "<!doctype html><title>deep</title><h1 id=d>x</h1>",
    f"{HAN}/index.html": f"<!doctype html><meta charset=utf-8><title>x</title><h1 id={HAN}>x</h1>",
    "a b.html": "<!doctype html><title>x</title>",
    "100%25.html": "<!doctype html><title>named with a percent sign and two digits</title>",
    "c#.html": "<!doctype html><title>x</title>",
    "q?.html": "<!doctype html><title>x</title>",
    "a+b.html": "<!doctype html><title>x</title>",
    "a&b.html": "<!doctype html><title>x</title>",
    "star*.html": "<!doctype html><title>x</title>",
    "back\\slash.html": "<!doctype html><title>x</title>",
    "Upper.html": "<!doctype html><title>x</title>",
    "moved/index.html": '<!doctype html><title>moved</title><meta http-equiv="refresh" content="0; url=../guide/"><a href="../guide/">on</a>',
    "app/index.html": '<!doctype html><title>app</title><div id="root"></div><script>document.title = "app";</script>',
    "gbk.html": '<!doctype html><html><head><meta charset="gb2312"><title>x</title></head><h1 id="内存">x</h1></html>'.encode("gb18030"),
    "utf16.html": "\ufeff<!doctype html><title>x</title><h1 id=内存>x</h1>".encode("utf-16-le"),
    "paper.pdf": b"%PDF-1.4\n",
    "film.webm": b"",
    "notes.txt": "notes",
    "img/a.png": PNG,
    "img/b.png": PNG,
    "img/c.png": PNG,
    "img/with,comma.png": PNG,
    "img/a b.png": PNG,
    "img/paren(1).png": PNG,
    "img/图.png": PNG,
    "img/icons.svg": SVG,
    "css/site.css": "body { background: url(../img/a.png) }",
    "css/other.css": "",
    "css/fonts/f.woff2": b"",
    "js/site.js": "",
}

CASES = [
    Case(4, "script-anchors", links("guide/#readme", "guide/#user-content-readme", "page.html#L10-L20"),
         {"guide/#readme": BROKEN, "guide/#user-content-readme": OK, "page.html#L10-L20": BROKEN}),
    Case(5, "shell", links("app/", "app/#/route", "app/#section"), {"app/": OK, "app/#/route": UNCHECKED, "app/#section": UNCHECKED}),
    Case(6, "han", links(f"guide/#{HAN}", f"guide/#{HAN_LOWER}", f"{HAN}/#{HAN}", f"{HAN_LOWER}/#{HAN_LOWER}", f"{HAN}/#内存"),
         {f"guide/#{HAN_UPPER}": OK, f"guide/#{HAN_LOWER}": OK, f"{HAN_UPPER}/#{HAN_UPPER}": OK, f"{HAN_LOWER}/#{HAN_LOWER}": OK,
          f"{HAN_UPPER}/#{quote('内存')}": BROKEN}),
    Case(6, "literal-percent", links("guide/#%E5%8E%9F%E7%90%86", "guide/#原理", "guide/#%25E5%258E%259F%25E7%2590%2586", "guide/#%e5%8e%9f%e7%90%86"),
         {"guide/#%E5%8E%9F%E7%90%86": OK, "guide/#%25E5%258E%259F%25E7%2590%2586": OK, "guide/#%e5%8e%9f%e7%90%86": BROKEN}),
    Case(6, "decoded-once", links("guide/#%2541", "guide/#%252541", "guide/#A", "guide/#%41", "guide/#%43ase"),
         {"guide/#%2541": OK, "guide/#%252541": OK, "guide/#A": BROKEN, "guide/#%41": BROKEN, "guide/#%43ase": OK}),
    Case(6, "signs", links("guide/#a b", "guide/#a%20b", "guide/#a+b", "guide/#C++", "guide/#C%2B%2B", "guide/#50%", "guide/#50%25", "guide/#q&quot;q"),
         {"guide/#a%20b": OK, "guide/#a+b": BROKEN, "guide/#C++": OK, "guide/#C%2B%2B": OK, "guide/#50%": OK, "guide/#50%25": OK, "guide/#q%22q": OK}),
    Case(6, "forms", links(f"guide/#{EMOJI}", f"guide/#{NFC}", f"guide/#{NFD}", f"guide/#{WIDE}", "guide/#A1", "guide/#case", "guide/#中", "guide/#a&amp;b"),
         {f"guide/#{quote(EMOJI)}": OK, f"guide/#{quote(NFC)}": OK, f"guide/#{quote(NFD)}": BROKEN, f"guide/#{quote(WIDE)}": OK, "guide/#A1": BROKEN,
          "guide/#case": BROKEN, "guide/#%E4%B8%AD": OK, "guide/#a&b": OK}),
    Case(6, "own-page", '<h2 id="本页">x</h2>' + links("#本页", "#%e6%9c%ac%e9%a1%b5", "#%E6%9C%AC", "#", "#top", "#TOP", ""),
         {f"case-6-own-page.html#{quote('本页')}": OK, "case-6-own-page.html#%e6%9c%ac%e9%a1%b5": OK, "case-6-own-page.html#%E6%9C%AC": BROKEN,
          "case-6-own-page.html#": OK, "case-6-own-page.html#top": OK, "case-6-own-page.html#TOP": OK, "case-6-own-page.html": OK}),
    Case(6, "text-fragments", links("guide/#:~:text=x", "guide/#start:~:text=x", "guide/#gone:~:text=nowhere"),
         {"guide/#:~:text=x": OK, "guide/#start:~:text=x": OK, "guide/#gone:~:text=nowhere": BROKEN}),
    Case(6, "other-encodings", links("gbk.html#内存", "utf16.html#内存", "gbk.html#%C4%DA%B4%E6"),
         {f"gbk.html#{quote('内存')}": OK, f"utf16.html#{quote('内存')}": OK, "gbk.html#%C4%DA%B4%E6": BROKEN}),
    Case(7, "other-page", links("guide/#start", "guide/#gone", "guide/#old-name", "guide/#no-anchor", "guide/#inert", "guide/#unscripted", "guide/#commented",
                                "guide/#typed", "guide/#drawn", "page.html#one", "page.html#two", "page#one", "page#two"),
         {"guide/#start": OK, "guide/#gone": BROKEN, "guide/#old-name": OK, "guide/#no-anchor": BROKEN, "guide/#inert": BROKEN, "guide/#unscripted": BROKEN,
          "guide/#commented": BROKEN, "guide/#typed": BROKEN, "guide/#drawn": OK, "page.html#one": OK, "page.html#two": BROKEN, "page#one": OK,
          "page#two": BROKEN}),
    Case(7, "behind-redirects", links("guide#start", "guide#gone", "moved/#start", "moved/#gone", "moved/"),
         {"guide#start": REDIRECTED, "guide#gone": BROKEN, "moved/#start": REDIRECTED, "moved/#gone": BROKEN, "moved/": OK}),
    Case(7, "not-html", links("paper.pdf#page=3", "film.webm#t=10", "img/a.png#x", "notes.txt#line", "img/icons.svg#icon", "img/icons.svg#gone",
                              "img/icons.svg#部件"),
         {"paper.pdf#page=3": OK, "film.webm#t=10": OK, "img/a.png#x": OK, "notes.txt#line": OK, "img/icons.svg#icon": OK, "img/icons.svg#gone": BROKEN,
          f"img/icons.svg#{quote('部件')}": OK}),
    Case(8, "folders", links("guide", "guide/", "guide/index.html", "guide/index", "bare", "bare/", "bare/data.txt", "page", "page.html", "page/", "page.html/",
                             "none", "none/", "none.html", "deep", "deep/er", "deep/er/"),
         {"guide": REDIRECTED, "guide/": OK, "guide/index.html": OK, "guide/index": OK, "bare": BROKEN, "bare/": BROKEN, "bare/data.txt": OK, "page": OK,
          "page.html": OK, "page/": BROKEN, "page.html/": BROKEN, "none": BROKEN, "none/": BROKEN, "none.html": BROKEN, "deep": BROKEN,
          "deep/er": REDIRECTED, "deep/er/": OK}),
    Case(8, "file-and-folder", links("both#file", "both#folder", "both/#folder", "both/#file", "both.html"),
         {"both#file": OK, "both#folder": BROKEN, "both/#folder": OK, "both/#file": BROKEN, "both.html": OK}),
    Case(8, "case-counts", links("Upper.html", "upper.html", "Page.html", "Guide/", "img/A.png"),
         {"Upper.html": OK, "upper.html": BROKEN, "Page.html": BROKEN, "Guide/": BROKEN, "img/A.png": BROKEN}),
    Case(8, "queries", links("page.html?x=1", "page.html?x=1#one", "page.html?x=1#two", "none.html?x=1", "?x=1", "guide/?q=#start"),
         {"page.html?x=1": OK, "page.html?x=1#one": OK, "page.html?x=1#two": BROKEN, "none.html?x=1": BROKEN, "case-8-queries.html?x=1": OK,
          "guide/?q=#start": OK}),
    Case(8, "source-paths", links("guide.md", "guide/index.md", "./", ".", "..", "guide/..", "guide/."),
         {"guide.md": BROKEN, "guide/index.md": BROKEN, "": OK, "guide/": OK, "/": BROKEN}),
    Case(9, "prefix", links("/repo/guide/", "/guide/", "/repo", "/repo/", "/", "/repo/../repo/guide/", "/repository/", "/repo/nothing/", "//", "/repo//guide/"),
         {"guide/": OK, "/guide/": BROKEN, "/repo": REDIRECTED, "": OK, "/": BROKEN, "/repository/": BROKEN, "nothing/": BROKEN, "raw://": BROKEN,
          "/repo//guide/": REDIRECTED}),
    Case(9, "climbing", links("../../page.html", "../../../repo/page.html", "../../../../../../repo/guide/#start", "../../../page.html", "../er/", "./", "../../"),
         {"page.html": OK, "guide/#start": OK, "/page.html": BROKEN, "deep/er/": OK, "": OK}, file="deep/er/case.html"),
    Case(9, "base-folder", links("er/", "page.html", "#d", "/repo/page.html", "../page.html"),
         {"deep/er/": OK, "deep/page.html": BROKEN, "deep/#d": BROKEN, "page.html": OK}, head='<base href="deep/">'),
    Case(9, "base-page", '<svg><use href="#mark"/><g id="mark"/></svg><div style="filter: url(#mark)">' + links("#one", "#two", "", "?a"),
         {"page.html#one": OK, "page.html#two": BROKEN, "page.html": OK, "page.html?a": OK, "case-9-base-page.html#mark": OK}, head='<base href="page.html">'),
    Case(9, "base-second", links("er/"), {"er/": BROKEN}, head='<base target="_blank"><base href="./"><base href="deep/">'),
    Case(9, "base-elsewhere", links("x/", "#y"), {"https://elsewhere.example.net/docs/x/": UNCHECKED, "https://elsewhere.example.net/docs/#y": UNCHECKED},
         head='<base href="https://elsewhere.example.net/docs/">'),
    Case(9, "base-useless", links("page.html"), {"page.html": OK}, head='<base href="data:text/plain,x">'),
    Case(13, "own-absolute", links("ORIGIN/repo/guide/", "ORIGIN/repo/guide/#start", "ORIGIN/repo/guide/#gone", "ORIGIN/repo/new/", "ORIGIN/repo", "HOSTONLY/repo/page.html",
                                   "ORIGIN/repo/guide"),
         {"guide/": OK, "guide/#start": OK, "guide/#gone": BROKEN, "new/": BROKEN, "/repo": REDIRECTED, "page.html": OK, "guide": REDIRECTED}),
    Case(13, "canonical", "", {"case-13-canonical.html": OK, "unborn/": BROKEN, "guide/": OK},
         head='<link rel="canonical" href="ORIGIN/repo/case-13-canonical.html"><link rel="alternate" hreflang="en" href="ORIGIN/repo/unborn/">'
              '<link rel="alternate" hreflang="zh" href="ORIGIN/repo/guide/">'),
    Case(17, "code", '<pre>&lt;a href="gone-1"&gt; https://gone.example.net/</pre><code><a href="page.html">x</a> <a href="gone-2">x</a></code>',
         {"page.html": OK, "gone-2": BROKEN}),
    Case(17, "inert", '<template><a href="gone-1">x</a><img src="gone-2"></template><textarea><a href="gone-3"></textarea><noscript><a href="gone-4">x</a></noscript>'
                      '<script>var a = \'<a href="gone-5">\';</script><script type="text/template"><a href="gone-6"></script><!-- <a href="gone-7"> -->'
                      '<xmp><a href="gone-8"></xmp><iframe title="x" src="page.html"><a href="gone-9"></iframe><a href="page.html#one">x</a>',
         {"page.html": OK, "page.html#one": OK}),
    Case(17, "noscript-in-head", links("page.html"), {"page.html": OK}, head='<noscript><img src="gone-1"><link rel="stylesheet" href="gone-2"></noscript>'),
    Case(17, "noscript-in-text", links("page.html", "gone") + "<script>var b = '</noscript>';</script>", {"page.html": OK, "gone": BROKEN},
         head="<script>var a = '<noscript>';</script><!-- <noscript> -->"),
    Case(17, "nested-templates", "<template>" * 40 + '<a href="gone">x</a>' + "</template>" * 40 + links("page.html"), {"page.html": OK}),
    Case(17, "not-links", '<a>x</a><a name="x"></a><blockquote cite="gone-1">x</blockquote><div href="gone-2" data-src="gone-3"></div><img alt="x" data-src="gone-4">'
                          '<a href="page.html" ping="gone-5">x</a><p title="gone-6">x</p>', {"page.html": OK}),
    Case(17, "shadow", '<div><template shadowrootmode="open"><a href="page.html">x</a><a href="gone-1">x</a><template><a href="gone-2"></a></template></template></div>',
         {"page.html": OK, "gone-1": BROKEN}),
    Case(17, "srcdoc", '<iframe srcdoc="<a href=&quot;page.html&quot;>x</a><img src=gone-1><a href=#inside>x</a>"></iframe>', {"page.html": OK, "gone-1": BROKEN}),
    Case(17, "markup", "<A HREF=page.html>x</A><a href = 'guide/' >x</a><a\nhref=\"\n guide/#start \n\">x</a><a href=page.html#one>x</a><a href=gone href=page.html>x</a>"
                       "<area shape=default href=gone-area><a href='gui\nde/#old-name'>x</a>",
         {"page.html": OK, "guide/": OK, "guide/#start": OK, "page.html#one": OK, "gone": BROKEN, "gone-area": BROKEN, "guide/#old-name": OK}),
    Case(20, "characters", links("a b.html", "a%20b.html", "c%23.html", "c#.html", "q%3F.html", "q?.html", "a+b.html", "a%2Bb.html", "a&amp;b.html", "a&b.html", "star*.html",
                                 "star%2A.html", "star%2a.html", "back%5Cslash.html", "back\\slash.html", "100%2525.html", "100%25.html", "%70age.html", "guide%2F"),
         {"a%20b.html": OK, "c%23.html": OK, "c#.html": BROKEN, "q%3F.html": OK, "q?.html": BROKEN, "a+b.html": OK, "a%2Bb.html": OK, "a&b.html": OK, "star*.html": OK,
          "star%2A.html": OK, "star%2a.html": OK, "back%5Cslash.html": OK, "back/slash.html": BROKEN, "100%2525.html": OK, "100%25.html": BROKEN, "%70age.html": OK,
          "guide%2F": OK}),
    Case(20, "entities", '<a href="page.html&#35;one">x</a><a href="&#x67;uide/">x</a><a href="page.html?a=1&copy=2">x</a><a href="page.html?a=1&amp;copy=2">x</a>',
         {"page.html#one": OK, "guide/": OK, "page.html?a=1&copy=2": OK}),
    Case(20, "backslashes", links("guide\\#start", "\\repo\\page.html", ".\\page.html", "deep\\er\\"),
         {"guide/#start": OK, "page.html": OK, "deep/er/": OK}),
    Case(20, "dots", links("deep/%2e%2e/page.html", "deep/%2E./page.html", "./././page.html", "deep/er/../../page.html", "guide/%2e", "...", "deep/.%2e/gone"),
         {"page.html": OK, "guide/": OK, "...": BROKEN, "gone": BROKEN}),
    Case(20, "legacy-query", links("page.html?q=内存#one", "页.html"), {"page.html?q=%C4%DA%B4%E6#one": OK, f"{quote('页')}.html": BROKEN}, encoding="gbk"),
    Case(20, "bad-addresses", links("http://", "https://[::1", "https://exa mple.org/", "http://host:99999/", "https://host:port/", "http://1.2.3.256/", "https://a%00b.org/"),
         {"http://": BROKEN, "https://[::1": BROKEN, "https://exa mple.org/": BROKEN, "http://host:99999/": BROKEN, "https://host:port/": BROKEN, "http://1.2.3.256/": BROKEN,
          "https://a%00b.org/": BROKEN}),
    Case(22, "srcset", '<img src="img/a.png" alt="" srcset="img/with,comma.png 1x, img/gone-1.png 2x,img/b.png 3x"><img alt="" src="img/a.png" srcset="img/a.png, img/gone-2.png 2x">'
                       '<img alt="" srcset="data:image/png;base64,AAAA 1x, img/c.png 2x">',
         {"img/a.png": OK, "img/with,comma.png": OK, "img/gone-1.png": BROKEN, "img/b.png": OK, "img/gone-2.png": BROKEN, "data:image/png;base64,AAAA": UNCHECKED,
          "img/c.png": OK}),
    Case(22, "srcset-bad", '<img alt="" src="img/a.png" srcset="img/gone-1.png 1x 2x, img/gone-2.png wide, img/b.png 100w, img/gone-3.png 0w, img/gone-4.png 5h">',
         {"img/a.png": OK, "img/b.png": OK}),
    Case(22, "picture", '<picture><source srcset="img/gone-1.png 2x, img/b.png" src="gone-2"><img src="img/a.png" alt=""></picture><source src="gone-3">',
         {"img/gone-1.png": BROKEN, "img/b.png": OK, "img/a.png": OK}),
    Case(22, "media", '<video src="film.webm" poster="img/gone-1.png"><track src="gone-2.vtt"></video><audio><source src="gone-3.ogg"></audio><video poster="img/a.png">'
                      '<source src="film.webm"><a href="page.html">x</a></video><embed src="gone-4.pdf"><object data="gone-5.pdf"><a href="gone-6">x</a></object>'
                      '<input type="image" src="img/gone-7.png"><input src="ignored">',
         {"film.webm": OK, "img/gone-1.png": BROKEN, "gone-2.vtt": BROKEN, "gone-3.ogg": BROKEN, "img/a.png": OK, "page.html": OK, "gone-4.pdf": BROKEN,
          "gone-5.pdf": BROKEN, "gone-6": BROKEN, "img/gone-7.png": BROKEN}),
    Case(22, "images", '<img src="img/图.png" alt=""><img src=" img/a%20b.png " alt=""><img src="img/gone.png" alt=""><img src="" alt=""><img alt="" src="img/paren(1).png">',
         {f"img/{quote('图')}.png": OK, "img/a%20b.png": OK, "img/gone.png": BROKEN, "img/paren(1).png": OK}),
    Case(22, "style-element", "", {"img/a.png": OK, "img/b.png": OK, "img/gone-2.png": BROKEN, "img/c.png": OK, "img/gone-5.png": BROKEN, "css/other.css": OK},
         head="""<style>@import "css/other.css"; /* url(img/gone-1.png) */ @namespace s url(gone-9); body { background: url( img/a.png ), url("img/b.png"), url('img/gone-2.png') }
         p::before { content: "url(img/gone-3.png)" } i { background: image-set("img/c.png" 1x, "img/gone-5.png" 2x); cursor: notaurl(img/gone-6.png) }
         @import "gone-7.css"; b { background: url(img/gone 8.png) }</style><style type="text/less">a { b: url(gone-10) }</style>"""),
    Case(22, "style-attribute", "<p style=\"background: url(img/a.png)\">x</p><p style='background: url(&quot;img/gone-1.png&quot;)'>x</p><p style='content: \"url(gone-2)\"'>x</p>"
                                "<p style='background: url(img/paren\\(1\\).png)'>x</p><p title='url(gone-3)'>x</p>",
         {"img/a.png": OK, "img/gone-1.png": BROKEN, "img/paren(1).png": OK}),
    Case(22, "svg", '<svg><use href="img/icons.svg#icon"/><use xlink:href="img/icons.svg#gone-1"/><image href="img/a.png"/><image xlink:href="img/gone-2.png"/>'
                    '<a xlink:href="page.html"><text>x</text></a><a href="gone-3"><text>x</text></a><use href="#here"/><use href="#gone-4"/><g id="here"/>'
                    '<rect fill="url(#paint)" clip-path="url(#gone-5)"/><linearGradient id="paint"/><use href="img/icons.svg#部件" xlink:href="gone-6"/></svg>',
         {"img/icons.svg#icon": OK, "img/icons.svg#gone-1": BROKEN, "img/a.png": OK, "img/gone-2.png": BROKEN, "page.html": OK, "gone-3": BROKEN,
          "case-22-svg.html#here": OK, "case-22-svg.html#gone-4": BROKEN, "case-22-svg.html#paint": OK, "case-22-svg.html#gone-5": BROKEN,
          f"img/icons.svg#{quote('部件')}": OK}),
    Case(22, "head-links", "", {"css/site.css": OK, "css/gone-1.css": BROKEN, "img/gone-2.png": BROKEN, "js/site.js": OK, "js/gone-3.js": BROKEN, "img/b.png": OK,
                                "img/gone-5.png": BROKEN, "guide/": OK},
         head='<link rel="stylesheet" href="css/site.css"><link rel="stylesheet" href="css/gone-1.css"><link rel="icon" href="img/gone-2.png"><link href="ignored">'
              '<link rel="preconnect" href="https://fonts.example.net"><link rel="dns-prefetch" href="//cdn.example.net"><script src="js/site.js"></script>'
              '<script src="js/gone-3.js"></script><script type="application/json" src="gone-4"></script><link rel="preload" as="image" imagesrcset="img/b.png 1x, img/gone-5.png 2x">'
              '<link rel="next" href="guide/">'),
    Case(22, "frames", '<iframe src="guide/#start"></iframe><iframe src="gone-1/"></iframe><iframe src="about:blank"></iframe><iframe></iframe>',
         {"guide/#start": OK, "gone-1/": BROKEN, "about:blank": UNCHECKED}),
    Case(22, "refresh", "", {"gone/": BROKEN}, head='<meta http-equiv="Refresh" content="9000; URL=\'gone/\'">'),
    Case(22, "refresh-none", "", {}, head='<meta http-equiv="refresh" content="9000"><meta http-equiv="refresh" content="url=gone"><meta name="refresh" content="0; url=gone">'),
    Case(25, "other-schemes", links("mailto:a@example.org", "tel:+86", "javascript:void(0)", "data:text/plain,x", "ftp://example.org/x", "magnet:?xt=1", "MAILTO:b@example.org?subject=x y"),
         {"mailto:a@example.org": UNCHECKED, "tel:+86": UNCHECKED, "javascript:void(0)": UNCHECKED, "data:text/plain,x": UNCHECKED, "ftp://example.org/x": UNCHECKED,
          "magnet:?xt=1": UNCHECKED, "MAILTO:b@example.org?subject=x y": UNCHECKED}),
    Case(25, "other-hosts", links("https://example.org/", "//cdn.example.net/x.js", "HTTPS://EXAMPLE.org:443/%7Ea", "http://100.64.0.1/", "https://例子.example/路?查=1"),
         {"https://example.org/": UNCHECKED, "//cdn.example.net/x.js": UNCHECKED, "https://example.org/%7Ea": UNCHECKED, "http://100.64.0.1/": UNCHECKED,
          "https://xn--fsqu00a.example/%E8%B7%AF?%E6%9F%A5=1": UNCHECKED}),
]  # fmt: skip

# Files that are no pages, and what is to be found in each.
SHEETS: dict[str, tuple[str, dict[str, str]]] = {
    "css/cases.css": (
        ('@charset "utf-8"; @import url("other.css"); @import "gone-1.css"; @font-face { src: url(fonts/f.woff2) format("woff2"), url("fonts/gone-2.woff?#iefix") }'
        "/* url(gone-3.png) */ a { background: url(/repo/img/a.png); mask: url(../img/icons.svg#icon); filter: url(#blur); b: url(../img/with,comma.png); c: url() }"
        ".x { background: url(../img/icons.svg#gone-4); d: url(/img/a.png); e: url(data:image/gif;base64,R0lGODlhAQABAAAAACw=) }"),
        {"css/other.css": OK, "css/gone-1.css": BROKEN, "css/fonts/f.woff2": OK, "css/fonts/gone-2.woff?#iefix": BROKEN, "img/a.png": OK, "img/icons.svg#icon": OK,
         "img/with,comma.png": OK, "img/icons.svg#gone-4": BROKEN, "/img/a.png": BROKEN, "data:image/gif;base64,R0lGODlhAQABAAAAACw=": UNCHECKED},
    ),
    "sitemap.xml": (
        ('<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:x="http://www.w3.org/1999/xhtml"><!-- <loc>ORIGIN/repo/no</loc> -->'
        "<url><loc>ORIGIN/repo/</loc></url><url><loc> ORIGIN/repo/gone-1/ </loc></url><url><loc>ORIGIN/repo/page.html?a=1&amp;b=2</loc>"
        '<x:link rel="alternate" hreflang="en" href="ORIGIN/repo/guide/"/><x:link rel="alternate" hreflang="de" href="ORIGIN/repo/gone-2/"/></url></urlset>'),
        {"": OK, "gone-1/": BROKEN, "page.html?a=1&b=2": OK, "guide/": OK, "gone-2/": BROKEN},
    ),
    "search/search_index.json": (
        f'{{"config": {{}}, "docs": [{{"location": "", "text": "<a href=gone>"}}, {{"location": "guide/#{HAN}"}}, {{"location": "guide/#gone"}}, {{"location": "gone/"}}]}}',
        {"": OK, f"guide/#{HAN_UPPER}": OK, "guide/#gone": BROKEN, "gone/": BROKEN},
    ),
    "drawing.svg": (
        '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><image href="img/a.png"/><image href="gone-1.png"/><use href="#in"/><use href="#gone-2"/><g id="in"/></svg>',
        {"img/a.png": OK, "gone-1.png": BROKEN, "drawing.svg#in": OK, "drawing.svg#gone-2": BROKEN},
    ),
}  # fmt: skip


def write_site(folder: Path, origin: str) -> None:
    """Write the site as it would be published at the origin's sub-path."""
    here = {"ORIGIN": origin, "HOSTONLY": origin.partition(":")[2]}
    for name, content in FILES.items():
        _write(folder / name, content if isinstance(content, bytes) else content.encode())
    for case in CASES:
        _write(folder / case.page, _filled(case.html(), here).encode("gb18030" if case.encoding == "gbk" else "utf-8"))
    for name, (text, _) in SHEETS.items():
        _write(folder / name, _filled(text, here).encode())


def expected(origin: str) -> dict[str, dict[str, str]]:
    """Return what is to be found in each file of the site, by its full address."""
    found = {case.page: case.expected for case in CASES} | {name: links for name, (_, links) in SHEETS.items()}
    return {name: {_full(address, origin): verdict for address, verdict in addresses.items()} for name, addresses in found.items()}


def _full(address: str, origin: str) -> str:
    """Write an address as it is reported: below the site's root; after a slash, below the host's; after two, elsewhere."""
    if address.startswith("raw:"):
        return address.removeprefix("raw:")
    if address.startswith("//"):
        return origin.partition("/")[0] + address
    if ":" in address.partition("/")[0].partition("#")[0]:
        return address
    return origin + (address if address.startswith("/") else ROOT + address)


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
