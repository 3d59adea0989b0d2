import { createHmac, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { readSecretFile, writeSecretFile } from "../files/index.ts";
import type { ServiceStore } from "../store/index.ts";
import { StartError } from "./door.ts";

const SECRET_BYTES = 32;
const MIN_SECRET = 32;
const FILE = "secret";
const SETTING = "secret-fingerprint";
/** A server that was heard of within this time counts as running, in ms. */
const RUNNING_MS = 10_000;

/**
 * The secret that all servers of one store share, and that is never in the store. Chunk tokens, list cursors and the ids of
 * the event stream are derived from it, so a copy of the database is not enough to make one.
 */
export class ServerSecret {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  /** For a service that shares its store with no other process and gives out nothing that outlives it. */
  static random(): ServerSecret {
    return new ServerSecret(randomText());
  }

  /** Returns the 32-byte key for one purpose. It is the same in every server of the store. */
  derive(purpose: string): Buffer {
    return createHmac("sha256", this.#secret).update(`orrery ${purpose}`).digest();
  }
}

export interface SecretOptions {
  /** `server.secret`, or `ORRERY_SECRET`. */
  readonly given: string | undefined;
  readonly dataDir: string;
  readonly store: Pick<ServiceStore, "backend" | "setting" | "replaceSetting" | "members">;
  /** Whether the store's secret is to be replaced by this server's. */
  readonly isReplaced: boolean;
}

/** What the store keeps of the secret: enough to recognize it, too little to find it. */
interface Fingerprint {
  readonly salt: string;
  readonly hash: string;
  /** Where the first server has the secret from, for the message that refuses another one. */
  readonly from: string;
}

/**
 * Finds this server's secret, or makes one in the data directory, and compares it with the fingerprint in the store.
 * Throws a `StartError` if the servers of the store have another secret.
 */
export async function openSecret(options: SecretOptions): Promise<ServerSecret> {
  const { given, dataDir, store, isReplaced } = options;
  // A store in memory ends with its server: so may everything that was derived from the secret.
  if (store.backend === "memory")
    return given === undefined ? ServerSecret.random() : new ServerSecret(given);
  const file = join(dataDir, FILE);
  if (isReplaced) return await replaceSecret(options, file);
  const kept = given ?? (await readSecret(file));
  const secret = kept ?? randomText();
  const own = await fingerprintOf(secret, given === undefined ? `${hostname()}:${file}` : "ORRERY_SECRET");
  // The file comes first: a server that is killed in between finds its secret again.
  const isMade = kept === undefined && (await keepSecret(file, secret, "add"));
  // Another server with the same data directory was faster.
  if (kept === undefined && !isMade) return await openSecret(options);
  const stored = JSON.parse(await store.setting(SETTING, () => JSON.stringify(own))) as Fingerprint;
  if (await matches(stored, secret)) return new ServerSecret(secret);
  if (isMade) await unlink(file);
  throw new StartError(refusalOf(stored, isMade ? undefined : given === undefined ? file : "ORRERY_SECRET"));
}

/** Returns why a server would not start with this setting and data directory; undefined if its secret is right. */
export async function secretProblem(
  given: string | undefined,
  dataDir: string,
  stored: string,
): Promise<string | undefined> {
  const file = join(dataDir, FILE);
  const fingerprint = JSON.parse(stored) as Fingerprint;
  const own = given ?? (await readSecret(file));
  if (own !== undefined && (await matches(fingerprint, own))) return undefined;
  return refusalOf(fingerprint, own === undefined ? undefined : given === undefined ? file : "ORRERY_SECRET");
}

async function replaceSecret({ given, store }: SecretOptions, file: string): Promise<ServerSecret> {
  const running = (await store.members()).find(({ seenMsAgo }) => seenMsAgo < RUNNING_MS);
  if (running) {
    throw new StartError(
      `the secret cannot be replaced while another server runs on this store (${running.name} at ${running.url}); stop all servers, and wait ${RUNNING_MS / 1000} s`,
    );
  }
  const secret = given ?? randomText();
  if (given === undefined) await keepSecret(file, secret, "replace");
  const own = await fingerprintOf(secret, given === undefined ? `${hostname()}:${file}` : "ORRERY_SECRET");
  await store.replaceSetting(SETTING, JSON.stringify(own));
  return new ServerSecret(secret);
}

function refusalOf({ from }: Fingerprint, own: string | undefined): string {
  const which =
    own === undefined
      ? "this server has no secret, and its store belongs to servers that share one"
      : `the secret in ${own} is not the one that the servers of this store share`;
  const where =
    from === "ORRERY_SECRET" ? "as the first server was" : `which the first server keeps in ${from}`;
  return (
    `${which}; start it with ORRERY_SECRET (or server.secret) set to that secret, ${where}. ` +
    "If the secret is lost, stop all servers and start one with --new-secret"
  );
}

function randomText(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

/** Slow on purpose, so that guesses at a secret that a person chose cost as much as guesses at a password. */
const slowHash = promisify<string, string, number, Buffer>(scrypt);

async function fingerprintOf(secret: string, from: string): Promise<Fingerprint> {
  const salt = randomBytes(16).toString("base64url");
  const hash = await slowHash(secret, salt, SECRET_BYTES);
  return { salt, hash: hash.toString("base64url"), from };
}

async function matches({ salt, hash }: Fingerprint, secret: string): Promise<boolean> {
  return timingSafeEqual(await slowHash(secret, salt, SECRET_BYTES), Buffer.from(hash, "base64url"));
}

/** Returns undefined if there is no such file. */
async function readSecret(file: string): Promise<string | undefined> {
  try {
    const text = await readSecretFile(file);
    if (text === undefined || text.length >= MIN_SECRET) return text;
  } catch (cause) {
    throw new StartError((cause as Error).message);
  }
  throw new StartError(`${file} must hold at least ${MIN_SECRET} characters; restore it from a backup`);
}

async function keepSecret(file: string, secret: string, how: "add" | "replace"): Promise<boolean> {
  try {
    return await writeSecretFile(file, secret, how);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new StartError(
      `the server's secret cannot be kept: ${why}; choose another --data, or set ORRERY_SECRET`,
    );
  }
}
