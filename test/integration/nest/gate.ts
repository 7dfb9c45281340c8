/** A point at which code waits until the test opens it. */
export class Gate {
  /** Resolves when code has reached the gate. */
  readonly reached: Promise<void>;
  private readonly opened: Promise<void>;
  private arrive: () => void = () => undefined;
  private proceed: () => void = () => undefined;

  constructor() {
    this.reached = new Promise((resolve) => (this.arrive = resolve));
    this.opened = new Promise((resolve) => (this.proceed = resolve));
  }

  pass(): Promise<void> {
    this.arrive();
    return this.opened;
  }

  open(): void {
    this.proceed();
  }
}
