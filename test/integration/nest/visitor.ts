import { request, type ClientRequest } from 'node:http';

/** A client that reads a response as it arrives, and can disconnect before its end. */
export class Visitor {
  text = '';
  /** Resolves when the response is complete or the connection is closed. */
  readonly gone: Promise<void>;
  private readonly request: ClientRequest;
  private readonly listeners = new Set<() => void>();

  constructor(url: URL) {
    this.request = request(url, { agent: false });
    this.gone = new Promise((resolve) => {
      this.request.on('close', () => resolve());
    });
    this.request.on('error', () => undefined);
    this.request.on('response', (response) => {
      response.setEncoding('utf8');
      response.on('error', () => undefined);
      response.on('data', (chunk: string) => {
        this.text += chunk;
        for (const listener of this.listeners) listener();
      });
    });
    this.request.end();
  }

  /** Resolves when the received text contains `text`. */
  reads(text: string): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!this.text.includes(text)) return;
        this.listeners.delete(look);
        resolve();
      };
      this.listeners.add(look);
      look();
    });
  }

  /** Closes the connection. */
  leave(): Promise<void> {
    this.request.destroy();
    return this.gone;
  }
}
