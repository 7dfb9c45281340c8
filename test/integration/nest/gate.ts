/** A point that code waits at until the test lets it go on. */
export class Gate {
  /** Resolves when somebody has come to the gate. */
  readonly reached: Promise<void>;
  private readonly opened: Promise<void>;
  private arrive: () => void = () => undefined;
  private letGo: () => void = () => undefined;

  constructor() {
    this.reached = new Promise((resolve) => (this.arrive = resolve));
    this.opened = new Promise((resolve) => (this.letGo = resolve));
  }

  pass(): Promise<void> {
    this.arrive();
    return this.opened;
  }

  open(): void {
    this.letGo();
  }
}
