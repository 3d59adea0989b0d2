/** One message of an event stream. */
export interface Message {
  readonly id: string | undefined;
  readonly data: string;
}

/**
 * Reads an event stream as far as our server writes it: fields on lines of their own, a blank line behind each
 * message. The browser's own EventSource cannot send a key.
 */
export class MessageReader {
  #rest = "";
  #id: string | undefined;
  #data: string[] = [];

  /** The messages that end in this piece of text. */
  read(text: string): Message[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): Message | undefined {
    if (line === "") return this.#end();
    const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === "id") this.#id = value;
    else if (field === "data") this.#data.push(value);
    return undefined;
  }

  #end(): Message | undefined {
    const message = { id: this.#id, data: this.#data.join("\n") };
    this.#id = undefined;
    this.#data = [];
    return message.data === "" ? undefined : message;
  }
}
