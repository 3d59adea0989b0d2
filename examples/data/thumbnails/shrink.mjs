// A PPM from stdin, every nth pixel of it as a PNG to stdout.

import { readFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";

const step = Number(process.argv[2]);
const image = readFileSync(0);
const [header, width, height] = /^P6 (\d+) (\d+) 255\n/.exec(image.toString("latin1", 0, 40)) ?? [];
if (header === undefined) throw new Error("this is no PPM");

const [w, h] = [Math.floor(Number(width) / step), Math.floor(Number(height) / step)];
const rows = Buffer.alloc(h * (1 + 3 * w));
for (let y = 0; y < h; y++) {
  for (let x = 0; x < w; x++) {
    const from = header.length + 3 * (y * step * Number(width) + x * step);
    image.copy(rows, y * (1 + 3 * w) + 1 + 3 * x, from, from + 3);
  }
}

/**
 * @param {string} type
 * @param {Buffer} data
 */
function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

const size = Buffer.alloc(13);
size.writeUInt32BE(w, 0);
size.writeUInt32BE(h, 4);
size.set([8, 2, 0, 0, 0], 8);
process.stdout.write(
  Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", size),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]),
);
