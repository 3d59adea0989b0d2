// Requests that two servers in a row could read differently, after the published collections: James Kettle's "HTTP Desync
// Attacks" and "Browser-Powered Desync Attacks" with HTTP Request Smuggler, the smuggler.py mutations, T-Reqs, and the
// examples of RFC 9112, sections 5 to 7 and 11.

import { ADMIN_KEY } from "./service.ts";

/** Never finished, so that the line of the next request on the same connection would become a header's value. */
const PREFIX = "POST /api/v2/scheduler/submit HTTP/1.1\r\nX-Ignore: ";
const WHOLE = "GET /smuggled HTTP/1.1\r\nHost: x\r\nX-Request-Id: smuggled\r\n\r\n";
/** Ends the connection in order, so that a caller need not wait to see that nothing else is answered. */
const END = "GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
/** Nothing is there. Unlike a refusal for want of a key, this answer leaves the connection open for more. */
const PATH = "/nothing";
/** A request that is let in, so that its body is read to the end. */
const READ = `Authorization: Bearer ${ADMIN_KEY}\r\nContent-Type: application/json\r\n`;

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const LAST = "0\r\n\r\n";
const lengthOf = (text: string) => `Content-Length: ${text.length}\r\n`;

function asks(method: string, headers: string, body: string, target = PATH, version = "1.1"): string {
  return `${method} ${target} HTTP/${version}\r\nHost: x\r\n${headers}\r\n${body}${END}`;
}

type Corpus = Record<string, string>;

/** Headers that a caller asks a proxy to remove. */
function namedInConnection(): Corpus {
  const corpus: Corpus = {};
  const named = ["content-length", "host", "authorization", "x-agent-id", "x-zone-id", "transfer-encoding"];
  for (const name of named) {
    for (const value of [name, `close, ${name}`, `keep-alive,\t${name.toUpperCase()}`])
      corpus[`Connection: ${value}`] = asks("GET", `Connection: ${value}\r\n${lengthOf(PREFIX)}`, PREFIX);
  }
  for (const method of ["GET", "HEAD", "DELETE", "OPTIONS", "POST", "PATCH"]) {
    for (const body of [PREFIX, WHOLE])
      corpus[`${method} whose length Connection names, ${body.length} bytes`] = asks(
        method,
        `Connection: content-length\r\n${lengthOf(body)}`,
        body,
      );
  }
  corpus["Connection twice"] = asks(
    "GET",
    `Connection: close\r\nConnection: content-length\r\n${lengthOf(PREFIX)}`,
    PREFIX,
  );
  corpus["Keep-Alive and Proxy-Connection"] = asks(
    "GET",
    "Proxy-Connection: content-length\r\nKeep-Alive: 1\r\n",
    "",
  );
  corpus["TE: trailers"] = asks("GET", "TE: trailers\r\nConnection: te\r\n", "");
  return corpus;
}

/** Bodies where none is expected. */
function bodies(): Corpus {
  const corpus: Corpus = {};
  for (const method of ["GET", "HEAD", "DELETE", "OPTIONS", "PUT", "POST", "PATCH", "PURGE", "TRACE"]) {
    for (const [what, body] of Object.entries({ prefix: PREFIX, request: WHOLE })) {
      corpus[`${method} with a length, ${what}`] = asks(method, lengthOf(body), body);
      corpus[`${method} in chunks, ${what}`] = asks(
        method,
        "Transfer-Encoding: chunked\r\n",
        chunk(body) + LAST,
      );
      corpus[`${method} with a body of no length (CL.0), ${what}`] = asks(method, "", body);
    }
    corpus[`${method} with JSON`] = asks(method, `${READ}${lengthOf("{}")}`, "{}");
  }
  return corpus;
}

/** Two framings, or one that only one of two servers sees. */
function framings(): Corpus {
  const corpus: Corpus = {};
  const chunked = [
    "Transfer-Encoding: chunked",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding:chunked",
    "Transfer-Encoding:\tchunked",
    "Transfer-Encoding: chunked ",
    "Transfer-Encoding: \x0bchunked",
    "Transfer-Encoding: \x0cchunked",
    "Transfer-Encoding: chunked\x0b",
    "Transfer-Encoding: Chunked",
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding: x, chunked",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: identity",
    "Transfer-Encoding: identity, chunked",
    "Transfer-Encoding: chunked, cow",
    "Transfer-Encoding: chunked;q=1",
    'Transfer-Encoding: "chunked"',
    "Transfer-Encoding: 'chunked'",
    "Transfer-Encoding: [chunked]",
    "Transfer-Encoding:",
    "Transfer-Encoding: ",
    "Transfer-Encoding:\r\n chunked",
    "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: ch\xfcnked",
    "Transfer-Encoding: chunke\u0064\x00",
    "Transfer_Encoding: chunked",
    "Transfer Encoding: chunked",
    "Transfer-Encoding\x00: chunked",
    "\x00Transfer-Encoding: chunked",
    " Transfer-Encoding: chunked",
    "X: y\rTransfer-Encoding: chunked",
    "X: y\nTransfer-Encoding: chunked",
    "X:y\r\n\tTransfer-Encoding: chunked",
    "Content-Encoding: chunked",
    "TrAnSfEr-EnCoDiNg: chunked",
    "Transfer-\u0045ncoding: chunked\r\nTE: chunked",
  ];
  for (const header of chunked) {
    const body = LAST + PREFIX;
    corpus[`CL.TE ${JSON.stringify(header)}`] = asks("POST", `${lengthOf(body)}${header}\r\n`, body);
    corpus[`TE.CL ${JSON.stringify(header)}`] = asks(
      "POST",
      `${header}\r\nContent-Length: 4\r\n`,
      chunk(WHOLE) + LAST,
    );
    corpus[`TE.0 ${JSON.stringify(header)}`] = asks("OPTIONS", `${header}\r\n`, chunk(WHOLE) + LAST);
  }
  const lengths = [
    "Content-Length: +5",
    "Content-Length: -5",
    "Content-Length: 0x5",
    "Content-Length: 05",
    "Content-Length: 5 ",
    "Content-Length:\t5",
    "Content-Length: 5 5",
    "Content-Length: 5, 5",
    "Content-Length: 5,0",
    "Content-Length: 5\r\nContent-Length: 5",
    "Content-Length: 0\r\nContent-Length: 5",
    "Content-Length: 5\r\nContent-Length: 0",
    "Content-Length: 5\r\nContent_Length: 0",
    "Content_Length: 5",
    "Content Length: 5",
    "Content-Length : 5",
    "Content-Length\t: 5",
    " Content-Length: 5",
    "Content-Length:",
    "Content-Length: ",
    "Content-Length: five",
    "Content-Length: 5.0",
    "Content-Length: 5e0",
    "Content-Length: \x0b5",
    "Content-Length: 5\x00",
    "Content-Length:\r\n 5",
    "X: y\rContent-Length: 5",
    "X: y\nContent-Length: 5",
    "content-length: 5",
    "Content-Length: 4294967301",
    "Content-Length: 18446744073709551621",
    "Proxy-Content-Length: 5",
  ];
  for (const header of lengths) {
    const isHuge = header.length > 24 && /\d{10}/.test(header);
    for (const method of isHuge ? [] : ["GET", "POST"])
      corpus[`${method} ${JSON.stringify(header)}`] = asks(method, `${header}\r\n`, "GET /");
    if (isHuge) corpus[`HUGE ${header}`] = asks("POST", `${header}\r\nConnection: x\r\n`, "GET /");
  }
  // Node drops the headers after the 2,000th from what a program sees, and not from what its parser heeds.
  corpus["a length behind 2,000 headers"] = asks("GET", "a:\r\n".repeat(2000) + lengthOf(PREFIX), PREFIX);
  corpus["chunks behind 2,000 headers"] = asks(
    "GET",
    `${"a:\r\n".repeat(2000)}Transfer-Encoding: chunked\r\n`,
    chunk(PREFIX) + LAST,
  );
  return corpus;
}

function chunks(): Corpus {
  const written: Corpus = {
    extensions: `5;a=b;c="d"\r\nhello\r\n${LAST}`,
    "an extension with CR": `5;a\rb\r\nhello\r\n${LAST}`,
    "an extension with LF": `5;a\nhello\r\n${LAST}`,
    "an extension on the last one": `0;${WHOLE.slice(0, 8)}\r\n\r\n`,
    "spaces behind a size": `5 \r\nhello\r\n${LAST}`,
    "a tab before a size": `\t5\r\nhello\r\n${LAST}`,
    "a prefix of a size": `0x5\r\nhello\r\n${LAST}`,
    "a sign before a size": `+5\r\nhello\r\n${LAST}`,
    "zeros before a size": `0000000005\r\nhello\r\n${LAST}`,
    "an underscore in a size": `0_5\r\nhello\r\n${LAST}`,
    "an overflow": `100000005\r\nhello\r\n${LAST}X`,
    "a larger overflow": `10000000000000005\r\nhello\r\n${LAST}`,
    "LF behind a size": `5\nhello\r\n${LAST}`,
    "LF behind a chunk": `5\r\nhello\n${LAST}`,
    "CR behind a size": `5\rhello\r\n${LAST}`,
    "no CRLF behind a chunk": `5\r\nhello${LAST}`,
    "two bytes in place of CRLF": `5\r\nhelloXX${LAST}`,
    "an empty size": `\r\nhello\r\n${LAST}`,
    "a last one with LF alone": `5\r\nhello\r\n0\n\n`,
    trailers: `5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n`,
    "a length among trailers": `5\r\nhello\r\n0\r\n${lengthOf(PREFIX)}\r\n`,
    "a key among trailers": `5\r\nhello\r\n0\r\nAuthorization: Bearer x\r\nHost: y\r\n\r\n`,
    "a bad trailer": `5\r\nhello\r\n0\r\nGET / HTTP/1.1\r\n\r\n`,
    "a request in one": chunk(WHOLE) + LAST,
  };
  const corpus: Corpus = {};
  for (const [what, body] of Object.entries(written)) {
    // The overflow would be waited for: nobody reads to its end.
    const close = what === "an overflow" ? "Connection: x\r\n" : "";
    corpus[`chunks: ${what}`] = asks(
      "POST",
      `${READ}Transfer-Encoding: chunked\r\n${close}`,
      body,
      "/api/v2/scheduler/classify",
    );
  }
  return corpus;
}

function requestLines(): Corpus {
  const targets = [
    "http://evil/api/v2/scheduler/tasks",
    "http://x:80@evil/livez",
    "HTTP://x/livez",
    "//evil/livez",
    "/\\evil",
    "*",
    "x",
    "/a/../livez",
    "/./livez",
    "/%2e%2e/livez",
    "/livez%20HTTP/1.1%0d%0aX:y",
    "/livez;x",
    "/livez#x",
    "/?a=b#c",
    "/a|b",
    '/a"b',
    "/a\tb",
    "/a\x7fb",
    "/a\x01b",
    "/a\x80b",
    "?",
    "",
  ];
  const corpus: Corpus = {};
  for (const target of targets) {
    corpus[`target ${JSON.stringify(target)}`] = asks("GET", lengthOf(PREFIX), PREFIX, target);
    corpus[`target ${JSON.stringify(target)} by OPTIONS`] = asks("OPTIONS", "", "", target);
  }
  for (const version of ["1.0", "0.9", "1.2", "2.0", "1", "1.1 ", "1.1\t", "01.1"]) {
    corpus[`HTTP/${version}`] = asks("GET", "", "", PATH, version);
    corpus[`HTTP/${version} with a length`] = asks("POST", lengthOf(PREFIX), PREFIX, PATH, version);
    corpus[`HTTP/${version} in chunks`] = asks(
      "POST",
      "Transfer-Encoding: chunked\r\n",
      chunk(PREFIX) + LAST,
      PATH,
      version,
    );
  }
  corpus["HTTP/1.0 without Host"] = `GET ${PATH} HTTP/1.0\r\n\r\n`;
  corpus["HTTP/1.0 kept alive"] = asks("GET", "Connection: keep-alive\r\n", "", PATH, "1.0");
  corpus["two Hosts"] = asks("GET", "Host: y\r\n", "");
  corpus["Host with a space"] = asks("GET", "Host : y\r\n", "");
  corpus["lines with LF alone"] = `GET ${PATH} HTTP/1.1\nHost: x\n\n${END}`;
  corpus["a line before the request"] = `\r\n${asks("GET", "", "")}`;
  corpus["a space before the first header"] = `GET ${PATH} HTTP/1.1\r\n X: y\r\nHost: x\r\n\r\n${END}`;
  corpus["two spaces in the line"] = `GET  ${PATH} HTTP/1.1\r\nHost: x\r\n\r\n${END}`;
  corpus["three words"] = `GET ${PATH} ${PATH} HTTP/1.1\r\nHost: x\r\n\r\n${END}`;
  corpus["pipelined"] = WHOLE.repeat(3) + asks("POST", lengthOf(WHOLE), WHOLE);
  return corpus;
}

function headerBytes(): Corpus {
  const corpus: Corpus = {};
  const bytes = [...Array(32).keys(), 34, 40, 44, 58, 64, 92, 123, 127, 128, 133, 160, 255];
  for (const byte of bytes) {
    const sign = String.fromCharCode(byte);
    corpus[`byte ${byte} in a header's value`] = asks("GET", `X: a${sign}b\r\n${lengthOf(PREFIX)}`, PREFIX);
    corpus[`byte ${byte} in a header's name`] = asks("GET", `X${sign}Y: ab\r\n${lengthOf(PREFIX)}`, PREFIX);
  }
  return corpus;
}

function expectations(): Corpus {
  const corpus: Corpus = {};
  const values = [
    "100-continue",
    "100-Continue",
    "100-continue, x",
    "x 100-continue",
    "y",
    "",
    "100-continue ",
  ];
  for (const value of values) {
    for (const method of ["GET", "POST", "HEAD", "OPTIONS"])
      corpus[`${method} Expect: ${JSON.stringify(value)}`] = asks(
        method,
        `Expect: ${value}\r\n${lengthOf(PREFIX)}`,
        PREFIX,
      );
  }
  corpus["Expect with a line break"] = asks("GET", `Expect:\r\n 100-continue\r\n${lengthOf(PREFIX)}`, PREFIX);
  corpus["Expect twice"] = asks("POST", `Expect: 100-continue\r\nExpect: y\r\n${lengthOf(PREFIX)}`, PREFIX);
  return corpus;
}

function upgrades(): Corpus {
  const corpus: Corpus = {};
  const socket = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
  for (const protocol of ["websocket", "WebSocket", "h2c", "websocket, h2c", "x", ""]) {
    for (const method of ["GET", "POST"]) {
      const offer = `Connection: upgrade\r\nUpgrade: ${protocol}\r\n${socket}`;
      const what = `${method} Upgrade: ${protocol}`;
      corpus[what] = asks(method, offer, "", "/worker/connect");
      corpus[`${what} and a request behind`] = asks(method, offer, WHOLE, "/worker/connect");
      corpus[`${what} with a body`] = asks(method, offer + lengthOf(WHOLE), WHOLE, "/worker/connect");
      corpus[`${what} in chunks`] = asks(
        method,
        `${offer}Transfer-Encoding: chunked\r\n`,
        chunk(WHOLE) + LAST,
        "/worker/connect",
      );
      corpus[`${what} without Connection`] = asks(
        method,
        `Upgrade: ${protocol}\r\n${lengthOf(WHOLE)}`,
        WHOLE,
        "/worker/connect",
      );
    }
  }
  corpus["Java's offer of h2c"] = asks(
    "GET",
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
    "",
  );
  corpus["a tunnel"] = `CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n${WHOLE}`;
  return corpus;
}

export const CORPUS: Readonly<Corpus> = {
  ...namedInConnection(),
  ...bodies(),
  ...framings(),
  ...chunks(),
  ...requestLines(),
  ...headerBytes(),
  ...expectations(),
  ...upgrades(),
};
