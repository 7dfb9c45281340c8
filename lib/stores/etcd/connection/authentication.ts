import type { EtcdCredentials } from './connection-options.js';
import type { Endpoint } from './endpoint.js';
import { EtcdError, status } from './etcd-failure.js';

/** Shows a member who this is, for a token that ends at some time. */
export class Authentication {
  private running: { readonly endpoint: Endpoint; readonly done: Promise<void> } | undefined;

  constructor(private readonly credentials: EtcdCredentials | undefined) {}

  /** Whether a request was refused that may be carried out with a new token. */
  helps(cause: Error): cause is EtcdError {
    return this.credentials !== undefined && cause instanceof EtcdError && cause.needsNewToken;
  }

  /** Ends when the member has given a new token, if one is being asked for. */
  underWay(endpoint: Endpoint): Promise<void> | undefined {
    return this.running?.endpoint === endpoint ? this.running.done : undefined;
  }

  /** Asks for a new token, once for all who need it. */
  renew(endpoint: Endpoint): Promise<void> {
    const underWay = this.underWay(endpoint);
    if (underWay !== undefined) return underWay;
    const running = {
      endpoint,
      done: this.authenticate(endpoint).finally(() => {
        if (this.running === running) this.running = undefined;
      }),
    };
    this.running = running;
    return running.done;
  }

  private async authenticate(endpoint: Endpoint): Promise<void> {
    if (this.credentials === undefined) return;
    const { username, password } = this.credentials;
    const given = typeof password === 'function' ? await password() : password;
    try {
      await endpoint.authenticate({ username, password: given });
    } catch (error) {
      // Users are set up, but not in force.
      if (!(error instanceof EtcdError && error.code === status.failedPrecondition)) throw error;
    }
  }
}
