// Certificates for 127.0.0.1 and localhost, made by openssl.

import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** An authority of the test's own, whose files lie in one directory. */
export class Authority {
  readonly ca: string;
  readonly #directory: string;
  readonly #key: string;

  static async in(directory: string, name = "ca"): Promise<Authority> {
    const authority = new Authority(directory, name);
    await authority.#openssl(
      ...["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2"],
      ...["-subj", `/CN=orrery test ${name}`, "-keyout", authority.#key, "-out", authority.ca],
    );
    return authority;
  }

  private constructor(directory: string, name: string) {
    this.#directory = directory;
    this.ca = join(directory, `${name}.pem`);
    this.#key = join(directory, `${name}-key.pem`);
  }

  /** Issues a certificate. With 0 days it has expired a second later. */
  async issue(name: string, days = 1): Promise<Pair> {
    const file = (suffix: string) => join(this.#directory, `${name}${suffix}.pem`);
    const [cert, key, request, extensions] = [file(""), file("-key"), file("-request"), file("-extensions")];
    await writeFile(extensions, "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
    await this.#openssl(
      ...["req", "-new", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
      ...["-subj", `/CN=${name}`, "-keyout", key, "-out", request],
    );
    await this.#openssl(
      ...["x509", "-req", "-in", request, "-CA", this.ca, "-CAkey", this.#key, "-CAcreateserial"],
      ...["-days", String(days), "-extfile", extensions, "-out", cert],
    );
    return { cert, key };
  }

  async #openssl(...args: readonly string[]): Promise<void> {
    await run("openssl", args);
  }
}
