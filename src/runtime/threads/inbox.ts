import { COMMAND, LETTER, MAIL, REPORT } from "./chance.ts";
import type { Desk } from "./desk.ts";
import type { Exchange } from "./exchange.ts";
import type { Guests } from "./guests.ts";
import type { Home } from "./home.ts";
import type { Letter } from "./letters.ts";
import { takeCommands, takeReports } from "./lists.ts";
import { type Mail, takeSlips } from "./mail.ts";
import type { Memory } from "./memory.ts";
import { SERIAL } from "./record.ts";
import type { Recorder } from "./recorder.ts";
import type { Station } from "./station.ts";

/** What a thread has besides its kernel. */
export interface Parts {
  readonly home: Home;
  readonly guests: Guests;
  /** Where it hears of channels that other threads use as well. */
  readonly border: Exchange | Desk;
}

/** The numbers of letters in recordings. */
export const LETTERS: readonly Letter["kind"][] = ["arguments", "outcome"];

/** Reads what other threads have sent, and hands it to whom it concerns. */
export class Inbox {
  readonly #station: Station;
  readonly #memory: Memory;
  readonly #parts: Parts;
  readonly #recorder: Recorder | undefined;

  constructor(station: Station, parts: Parts) {
    this.#station = station;
    this.#memory = station.memory;
    this.#parts = parts;
    this.#recorder = station.recorder;
  }

  read(): void {
    const { me, post } = this.#station;
    const memory = this.#memory;
    const { words } = memory;
    if (Atomics.exchange(words, memory.lettersAt(me), 0) !== 0)
      post.receive((letter) => this.#letter(letter));
    if (words[memory.mailAt(me)] !== 0) takeSlips(memory, me, (mail) => this.#mail(mail));
    this.#parts.border.letGo();
    if (words[memory.reportsAt(me)] !== 0)
      takeReports(memory, me, (record, state) => {
        this.#recorder?.step(REPORT, this.#serialOf(record), state);
        this.report(record, state);
      });
    if (words[memory.commandsAt(me)] !== 0)
      takeCommands(memory, me, (record, commands) => {
        this.#recorder?.step(COMMAND, memory.homeOf(record), this.#serialOf(record), commands);
        this.command(record, commands);
      });
  }

  /** Of a fiber that another thread has stolen from this one. */
  report(record: number, state: number): void {
    this.#memory.count(this.#station.me, "settled");
    this.#parts.home.receive(record, state);
  }

  /** For a fiber that this thread has stolen. */
  command(record: number, commands: number): void {
    this.#parts.guests.obey(record, commands);
  }

  #letter(letter: Letter): void {
    const { kind, record, serial } = letter;
    if (kind === "mail") this.#mail(letter.value as Mail);
    else if (kind === "arguments" || kind === "outcome") {
      this.#recorder?.step(LETTER, LETTERS.indexOf(kind), this.#memory.homeOf(record), serial);
      this.take(letter);
    } else this.#station.asked(letter);
  }

  #mail(mail: Mail): void {
    this.#recorder?.step(MAIL, mail.from, mail.serial);
    this.#parts.border.take(mail);
  }

  /** Hands a letter to whom it concerns. */
  take(letter: Letter): void {
    if (letter.kind === "mail") this.#parts.border.take(letter.value as Mail);
    else if (letter.kind === "arguments") this.#parts.guests.receiveLetter(letter);
    else this.#parts.home.receiveLetter(letter);
  }

  #serialOf(record: number): number {
    return this.#memory.words[this.#memory.recordAt(record) + SERIAL] as number;
  }
}
