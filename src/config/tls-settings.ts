import { type Reader, type Setting, setting } from "./setting.ts";
import { optional, text } from "./value-type.ts";

const PEM = optional(text("a file in PEM format"));

interface TlsSettings {
  readonly tlsCert: Setting<string | undefined>;
  readonly tlsKey: Setting<string | undefined>;
  readonly tlsCa: Setting<string | undefined>;
}

/** Settings of a process that listens with TLS and connects to others of its kind. `shownFor` ends two sentences. */
export function tlsSettings(readers: readonly Reader[], shownFor: string): TlsSettings {
  const file = { type: PEM, default: undefined, readers, isPath: true } as const;
  return {
    tlsCert: setting({
      ...file,
      key: "tls_cert",
      defaultWords: "none: plain HTTP",
      about: `The certificate for ${shownFor}, followed by those that signed it`,
      option: "--tls-cert",
      variable: "ORRERY_TLS_CERT",
    }),
    tlsKey: setting({
      ...file,
      key: "tls_key",
      defaultWords: "none",
      about: "The private key of `tls_cert`, without a passphrase",
      option: "--tls-key",
      variable: "ORRERY_TLS_KEY",
    }),
    tlsCa: setting({
      ...file,
      key: "tls_ca",
      defaultWords: "those of the system only",
      about: "Certificates to trust when connecting, beside those of the system",
      needsNamedFile: true,
      option: "--tls-ca",
      variable: "ORRERY_TLS_CA",
    }),
  };
}
