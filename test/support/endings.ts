import { afterEach } from '@jest/globals';

interface Closable {
  close(): unknown;
}

/** What a test starts: ended after it, applications first, while the servers and proxies that they talk to are there. */
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

  /** Of what is no application, the newest is ended first. */
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
