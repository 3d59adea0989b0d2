import { readServerTls, type ServerTls, trust } from "../tls/index.ts";

interface TlsSettings {
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly tlsCa: string | undefined;
  readonly tlsClientCa?: string | undefined;
}

/**
 * Reads the certificates of a process, at its start and again on SIGHUP. It shows the result to those who connect to it,
 * and uses the same certificate when it connects itself.
 */
export function readTls(section: "server" | "worker", settings: TlsSettings): ServerTls | undefined {
  const { tlsCert: cert, tlsKey: key, tlsCa: ca, tlsClientCa: clientCa } = settings;
  const files = { cert, key, ca, clientCa };
  const nameOf = (setting: string) => `${section}.${setting}`;
  const tls = readServerTls(files, nameOf);
  trust(files, nameOf);
  return tls;
}

/**
 * Returns what to do on SIGHUP, or `undefined` if no certificate is set. If the new files cannot be used, the process goes
 * on with the certificate that it has.
 */
export function reloading(
  section: "server" | "worker",
  settings: TlsSettings,
  {
    renew,
    info,
    warn,
  }: {
    readonly renew: (tls: ServerTls) => void;
    readonly info: (message: string) => void;
    readonly warn: (message: string) => void;
  },
): (() => void) | undefined {
  if (settings.tlsCert === undefined) return undefined;
  return () => {
    try {
      const tls = readTls(section, settings);
      if (tls) renew(tls);
      info("read the TLS certificate again; new connections use it");
    } catch (error) {
      warn(`the TLS certificate stays as it was: ${(error as Error).message}`);
    }
  };
}
