/** An end of a command that its user can do something about: the message goes to stderr as it is. */
export class CliError extends Error {
  override readonly name: string = "CliError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Wrong arguments, or input that cannot be used. */
export class UsageError extends CliError {
  constructor(message: string) {
    super(message, 2);
  }
}

export class NotFoundError extends CliError {
  constructor(message: string) {
    super(message, 3);
  }
}

/** A check or a run failed. Where its report has been printed, nothing is left to say but the exit code. */
export class CheckFailed extends CliError {
  constructor(message = "") {
    super(message, 1);
  }
}
