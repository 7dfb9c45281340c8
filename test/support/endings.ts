import { afterEach } from '@jest/globals';

interface Closable {
  close(): unknown;
}

/** Closes what a test has started: first applications, then the servers and proxies that they use. */
export class Endings {
  private readonly apps: Closable[] = [];
  private readonly others: Closable[] = [];

  constructor() {
    afterEach(() => this.end());
  }

  app<T extends Closable>(app: T): T {
    this.apps.push(app);
    return app;
  }

  /** Everything else is closed newest first. */
  until<T extends Closable>(thing: T): T {
    this.others.push(thing);
    return thing;
  }

  async endApps(): Promise<void> {
    await Promise.all(this.apps.splice(0).map((app) => app.close()));
  }

  private async end(): Promise<void> {
    await this.endApps();
    for (const one of this.others.splice(0).reverse()) await one.close();
  }
}
