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

/** A check or a run failed, and its report has been printed. */
export class CheckFailed extends CliError {
  constructor() {
    super("", 1);
  }
}
