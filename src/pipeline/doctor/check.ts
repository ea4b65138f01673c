/** The result of one check. */
export interface Check {
  /** False if something does not work. */
  readonly ok: boolean;
  /** Works, but a person should look at it. */
  readonly warning?: true;
  /** A target's name, `configuration`, `warehouse` or `mail`. */
  readonly about: string;
  readonly check: string;
  readonly detail: string;
}

/** Makes the checks of one subject. */
export class CheckList {
  readonly checks: Check[] = [];
  readonly #about: string;

  constructor(about: string) {
    this.#about = about;
  }

  ok(check: string, detail: string): void {
    this.checks.push({ ok: true, about: this.#about, check, detail });
  }

  warn(check: string, detail: string): void {
    this.checks.push({ ok: true, warning: true, about: this.#about, check, detail });
  }

  fail(check: string, detail: string): void {
    this.checks.push({ ok: false, about: this.#about, check, detail });
  }
}
