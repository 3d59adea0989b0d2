import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";

/** Paths of PEM files. */
export interface TlsFiles {
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Certificates that are trusted beside those of the system. */
  readonly ca?: string | undefined;
  /** Callers must show a certificate that one of these has signed. */
  readonly clientCa?: string | undefined;
}

/** Options of a listening socket, and for its `setSecureContext`. */
export interface ServerTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
  readonly requestCert?: true;
  readonly rejectUnauthorized?: true;
}

/** A certificate, a key or a list of trusted certificates cannot be used. The message names the setting and the fix. */
class TlsError extends Error {
  override readonly name = "TlsError";
}

/** Returns how a setting is called, such as `server.tls_cert` or `ORRERY_TLS_CERT`. */
export type SettingName = (setting: "tls_cert" | "tls_key" | "tls_ca" | "tls_client_ca") => string;

/** Reads and checks the certificate of something that listens. Returns `undefined` if no certificate is set. */
export function readServerTls(files: TlsFiles, nameOf: SettingName): ServerTls | undefined {
  const pair = readPair(files, nameOf);
  const { clientCa } = files;
  if (clientCa === undefined) return pair;
  const name = nameOf("tls_client_ca");
  if (!pair) throw new TlsError(`${name} needs ${nameOf("tls_cert")} and ${nameOf("tls_key")} as well`);
  const ca = read(clientCa, name);
  certificatesIn(ca, clientCa, name);
  return { ...pair, ca, requestCert: true, rejectUnauthorized: true };
}

/** Reads a certificate with its key. */
export function readPair(
  { cert, key }: TlsFiles,
  nameOf: SettingName,
): Pick<ServerTls, "cert" | "key"> | undefined {
  if (cert === undefined && key === undefined) return undefined;
  const [certName, keyName] = [nameOf("tls_cert"), nameOf("tls_key")];
  if (key === undefined) throw new TlsError(`${certName} needs ${keyName} as well`);
  if (cert === undefined) throw new TlsError(`${keyName} needs ${certName} as well`);
  const certBytes = read(cert, certName);
  const keyBytes = read(key, keyName);
  const [own] = certificatesIn(certBytes, cert, certName);
  if (!own?.checkPrivateKey(keyIn(keyBytes, key, keyName)))
    throw new TlsError(`${keyName}: the key in ${key} does not belong to the certificate in ${cert}`);
  checkDates(own, `${certName}: the certificate in ${cert}`);
  return { cert: certBytes, key: keyBytes };
}

/** Returns all certificates to trust, with those that Node trusts by default. */
export function readTrusted(ca: string, nameOf: SettingName): string[] {
  const name = nameOf("tls_ca");
  const own = certificatesIn(read(ca, name), ca, name).map(String);
  // Once a list is given, Node leaves out its own list and this file.
  const extra = process.env["NODE_EXTRA_CA_CERTS"];
  const more = extra ? certificatesIn(read(extra, "NODE_EXTRA_CA_CERTS"), extra, "NODE_EXTRA_CA_CERTS") : [];
  return [...rootCertificates, ...more.map(String), ...own];
}

function read(file: string, name: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "does not exist" : `cannot be read: ${message}`;
    throw new TlsError(`${name}: ${file} ${why}`, { cause });
  }
}

function certificatesIn(pem: Buffer, file: string, name: string): X509Certificate[] {
  const found = String(pem).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new TlsError(`${name}: ${file} does not contain a certificate in PEM format`);
  try {
    return found.map((text) => new X509Certificate(text));
  } catch (cause) {
    throw new TlsError(`${name}: ${file} contains a damaged certificate`, { cause });
  }
}

function keyIn(pem: Buffer, file: string, name: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    const isEncrypted = /ENCRYPTED/.test(String(pem));
    const why = isEncrypted
      ? "is encrypted; store it without a passphrase, readable by this user only"
      : "does not contain a private key in PEM format";
    throw new TlsError(`${name}: ${file} ${why}`, { cause });
  }
}

function checkDates({ validFrom, validTo }: X509Certificate, what: string): void {
  const now = Date.now();
  if (now > Date.parse(validTo)) throw new TlsError(`${what} expired on ${dayOf(validTo)}; renew it`);
  if (now < Date.parse(validFrom))
    throw new TlsError(`${what} is not valid before ${dayOf(validFrom)}; check the clock of this machine`);
}

function dayOf(date: string): string {
  return new Date(date).toISOString().slice(0, 16).replace("T", " ");
}
