/** Longer texts are measured; for shorter ones there is room for whatever they may take. */
const SHORT = 100;
const MAX_BYTES_PER_UNIT = 3;
const BYTES_BESIDE_VALUES = 64;

const BIND = 0x42;
/** Of the portal without a name, all rows; then what ends the exchange. */
const EXECUTE_AND_SYNC = Buffer.from("E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04", "latin1");

/**
 * What runs a prepared statement, as PostgreSQL reads it, all parameters being texts: one piece of memory that is written
 * once. The driver's way copies large values several times, and takes as long for the many small ones as to make them.
 */
export function messageOf(statement: string, values: readonly (string | null)[]): Buffer {
  let room = BYTES_BESIDE_VALUES + MAX_BYTES_PER_UNIT * statement.length;
  for (const value of values) room += 4 + (value === null ? 0 : roomFor(value));
  const message = Buffer.allocUnsafe(room);
  message[0] = BIND;
  // Its length is written when it is known. The portal has no name.
  message[5] = 0;
  let at = 6 + message.write(statement, 6);
  message[at++] = 0;
  // All of its parameters are texts.
  at = message.writeInt16BE(0, at);
  at = message.writeInt16BE(values.length, at);
  for (const value of values) {
    const length = value === null ? 0 : message.write(value, at + 4);
    message.writeInt32BE(value === null ? -1 : length, at);
    at += 4 + length;
  }
  // And so is what it answers.
  at = message.writeInt16BE(0, at);
  message.writeInt32BE(at - 1, 1);
  at += EXECUTE_AND_SYNC.copy(message, at);
  return message.subarray(0, at);
}

function roomFor(value: string): number {
  return value.length <= SHORT ? MAX_BYTES_PER_UNIT * value.length : Buffer.byteLength(value);
}
