import type {
  KeyAnswer,
  KeyBody,
  KeysAnswer,
  NewKeyAnswer,
  RevokeBody,
  RevokedKeyAnswer,
  RotateBody,
} from "../protocol/api-schemas.ts";
import { type CallOptions, get, path, post, repeatablePost } from "./calls.ts";
import type { Connection } from "./connection.ts";

/** The service's API keys, for admins. A secret is shown once, when its key is made. */
export class Keys {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async list(options: CallOptions = {}): Promise<KeyAnswer[]> {
    const { keys } = await this.#connection.send<KeysAnswer>(get("keys", options));
    return keys;
  }

  create(key: KeyBody, options: CallOptions = {}): Promise<NewKeyAnswer> {
    return this.#connection.send(post("keys", key, options));
  }

  /** Everything that the key made ends with it, unless the body names another key that takes it over. */
  revoke(id: string, body: RevokeBody = {}, options: CallOptions = {}): Promise<RevokedKeyAnswer> {
    return this.#connection.send(repeatablePost(path`keys/${id}/revoke`, body, options));
  }

  /** A new key like it, with everything that the old one made; the old secret stays valid for the overlap. */
  rotate(id: string, body: RotateBody = {}, options: CallOptions = {}): Promise<NewKeyAnswer> {
    return this.#connection.send(post(path`keys/${id}/rotate`, body, options));
  }
}
