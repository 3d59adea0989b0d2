import { type FormEvent, useState } from "react";
import type { WhoAnswer } from "../../../../src/protocol/api-schemas.ts";
import { get, Refused } from "../../api/request.ts";
import { signIn, whySignedOut } from "../../api/session.ts";

/** Asks for a key, where one is; whatever the URL shows comes after it. */
export function Login() {
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState(whySignedOut());
  const [isAsking, setAsking] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setAsking(true);
    try {
      const as = { key: key.trim() };
      await get<WhoAnswer>("/whoami", { as });
      signIn(as);
    } catch (error) {
      setProblem(error instanceof Refused ? error.message : "the key could not be tried");
      setAsking(false);
    }
  };
  return (
    <main className="login">
      <form onSubmit={(event) => void submit(event)}>
        <h1>
          <img src="/icon.svg" alt="" width="32" height="32" /> Orrery
        </h1>
        <label>
          API key
          <input
            type="password"
            name="key"
            autoComplete="current-password"
            placeholder="sk-…"
            value={key}
            onChange={({ target }) => setKey(target.value)}
            required
          />
        </label>
        <p role="alert" className="problem">
          {problem}
        </p>
        <button type="submit" className="primary" disabled={isAsking}>
          Sign in
        </button>
        <p className="quiet">
          The key stays in this tab. <code>orrery serve</code> prints a link that needs none, and{" "}
          <code>orrery keys create</code> makes one.
        </p>
      </form>
    </main>
  );
}
