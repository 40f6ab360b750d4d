"""Documents as people have them, and as attackers make them."""

import zlib
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

from pypdf import PdfWriter
from pypdf.generic import DictionaryObject, NameObject, StreamObject

DOCX_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(32)) * 40
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
ENTITIES = "<!DOCTYPE d [<!ENTITY a0 'Lima '>{}]>".format(
    "".join(f"<!ENTITY a{n + 1} '{f'&a{n};' * 10}'>" for n in range(9))
)


def pdf(*pages: str, password: str | None = None, filler: int = 0) -> bytes:
    """A PDF with a line of text on each page, "" for none (a scan), and with `filler` bytes more in
    each that take next to nothing. A password of "" locks nothing but editing.
    """
    writer = PdfWriter()
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    names = DictionaryObject({NameObject(k): NameObject(v) for k, v in font.items()})
    for text in pages:
        page = writer.add_blank_page(600, 300)
        fonts = DictionaryObject({NameObject("/F1"): names})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        drawn = f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET" if text else "0 0 9 9 re f"
        content = StreamObject()
        content._data = zlib.compress(drawn.encode("latin-1") + b" " * filler)
        content[NameObject("/Filter")] = NameObject("/FlateDecode")
        page[NameObject("/Contents")] = writer._add_object(content)
    if password is not None:
        writer.encrypt(password, "owner", algorithm="AES-256")
    file = BytesIO()
    writer.write(file)
    return file.getvalue()


def docx(*paragraphs: str, before: str = "", filler: int = 0) -> bytes:
    """A DOCX of these paragraphs; `before` comes before the root of its text."""
    text = "".join(f"<w:p><w:r><w:t>{one}</w:t></w:r></w:p>" for one in paragraphs)
    body = f'{before}<w:document xmlns:w="{WORD}"><w:body>{text}</w:body></w:document>'
    main = DOCX_TYPE + ".main+xml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        f'<Override PartName="/word/document.xml" ContentType="{main}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{RELATION}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": body + " " * filler,
    }
    return zipped(parts)


def zipped(parts: dict[str, str]) -> bytes:
    """A zip of these files."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


# What cannot be read, its suffix, and the word for why.
UNREADABLE = {
    "picture": (PNG, ".png", "media_type"),
    "picture called a text": (PNG, ".txt", "media_type"),
    "text called a PDF": (b"Lima is the capital.", ".pdf", "media_type"),
    "zip": (zipped({"a.txt": "Lima"}), ".docx", "media_type"),
    "locked PDF": (pdf("Lima", password="secret"), ".pdf", "encrypted"),
    "locked DOCX": (
        b"\xd0\xcf\x11\xe0" + bytes(600) + "EncryptedPackage".encode("utf-16-le"),
        ".docx",
        "encrypted",
    ),
    "scanned PDF": (pdf("", ""), ".pdf", "scanned"),
    "damaged PDF": (pdf("Lima")[:200], ".pdf", "damaged"),
    "damaged DOCX": (docx("Lima")[:-40], ".docx", "damaged"),
    "entities": (docx("&a9;", before=ENTITIES), ".docx", "damaged"),
    "PDF bomb": (pdf("Lima", filler=100 * 2**20), ".pdf", "bomb"),
    "zip bomb": (docx("Lima", filler=70 * 2**20), ".docx", "bomb"),
    "empty": (b" \n", ".txt", "no_text"),
    "empty PDF": (b"\n", ".pdf", "no_text"),
    "empty page": (b"<html><body></body></html>", ".html", "no_text"),
}
