import { type ReactNode, useState } from "react";

const SAID_FOR_MS = 1500;

export function CopyButton({ text, children }: { readonly text: string; readonly children: ReactNode }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    // Browsers have no clipboard for pages that came without encryption from another machine.
    const isCopied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    setSaid(isCopied ? "Copied" : "Not possible here");
    window.setTimeout(() => setSaid(""), SAID_FOR_MS);
  };
  return (
    <button type="button" className="copy" title={text} onClick={() => void copy()}>
      <span className={said === "" ? "" : "unseen"}>{children}</span>
      <span className="copied" role="status">
        {said}
      </span>
    </button>
  );
}
