import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { beforeAll, expect, test } from "vitest";
import { Authority, type Pair } from "../../tests/certificates.ts";
import { directoryWith } from "../../tests/cli.ts";
import { readServerTls, readTrusted } from "./files.ts";

const nameOf = (setting: string) => `server.${setting}`;

let directory: string;
let authority: Authority;
let good: Pair;
let other: Pair;
beforeAll(async () => {
  directory = await directoryWith({ "empty.pem": "", "damaged.pem": "" });
  authority = await Authority.in(directory);
  [good, other] = [await authority.issue("good"), await authority.issue("other")];
});

test("[F18] a certificate and its key are what a listening socket takes", () => {
  const tls = readServerTls({ ...good, clientCa: authority.ca }, nameOf);
  expect(() => createSecureContext(tls)).not.toThrow();
  expect(tls).toMatchObject({ requestCert: true, rejectUnauthorized: true });
  expect(readServerTls({}, nameOf)).toBeUndefined();
});

test("[F18] a certificate that cannot be used is an error that names the setting, the file and the fix", async () => {
  const file = (name: string) => join(directory, name);
  const expired = await authority.issue("expired", 0);
  await writeFile(file("damaged.pem"), readFileSync(good.cert, "utf8").replace(/\n[^-\n]{20}/, "\nAAAA"));
  await writeFile(
    file("locked.pem"),
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
  );
  const refused = (files: object) => {
    try {
      return `not refused: ${String(readServerTls(files, nameOf))}`;
    } catch (error) {
      return (error as Error).message.replaceAll(`${directory}/`, "");
    }
  };
  expect(refused({ cert: good.cert })).toBe("server.tls_cert needs server.tls_key as well");
  expect(refused({ key: good.key })).toBe("server.tls_key needs server.tls_cert as well");
  expect(refused({ clientCa: authority.ca })).toBe(
    "server.tls_client_ca needs server.tls_cert and server.tls_key as well",
  );
  expect(refused({ ...good, cert: file("none.pem") })).toBe("server.tls_cert: none.pem does not exist");
  expect(refused({ ...good, key: directory })).toMatch(/^server\.tls_key: \S+ cannot be read: EISDIR/);
  expect(refused({ ...good, cert: file("empty.pem") })).toBe(
    "server.tls_cert: empty.pem does not contain a certificate in PEM format",
  );
  expect(refused({ ...good, cert: file("damaged.pem") })).toBe(
    "server.tls_cert: damaged.pem contains a damaged certificate",
  );
  expect(refused({ ...good, key: good.cert })).toBe(
    "server.tls_key: good.pem does not contain a private key in PEM format",
  );
  expect(refused({ ...good, key: file("locked.pem") })).toBe(
    "server.tls_key: locked.pem is encrypted; store it without a passphrase, readable by this user only",
  );
  expect(refused({ ...good, key: other.key })).toBe(
    "server.tls_key: the key in other-key.pem does not belong to the certificate in good.pem",
  );
  await expect
    .poll(() => refused(expired), { timeout: 5_000 })
    .toMatch(/^server\.tls_cert: the certificate in expired\.pem expired on \d{4}-.+; renew it$/);
  expect(refused({ ...good, clientCa: file("none.pem") })).toBe(
    "server.tls_client_ca: none.pem does not exist",
  );
});

test("[F18] a file of trusted certificates adds to those of the system and of NODE_EXTRA_CA_CERTS", async () => {
  const second = await Authority.in(directory, "second");
  const before = process.env["NODE_EXTRA_CA_CERTS"];
  process.env["NODE_EXTRA_CA_CERTS"] = second.ca;
  const trusted = readTrusted(authority.ca, nameOf).join("\n");
  if (before === undefined) delete process.env["NODE_EXTRA_CA_CERTS"];
  else process.env["NODE_EXTRA_CA_CERTS"] = before;
  for (const { ca } of [authority, second]) expect(trusted).toContain(readFileSync(ca, "utf8").trim());
  expect(trusted.length).toBeGreaterThan(100_000);
});
