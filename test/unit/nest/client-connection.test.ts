import { describe, expect, it } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ClientConnection } from '../../../lib/nest/requests/client-connection.js';

/** A pipelined response, which has no socket yet. */
function pipelined() {
  const socket = new Socket();
  const response = new ServerResponse(new IncomingMessage(socket));
  let over = 0;
  new ClientConnection(response).whenOver(() => (over += 1));
  return { socket, response, over: () => over };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the end of a response', () => {
  it.each(['finish', 'close'])(
    'F72: is noticed once, by %s; the connection keeps nothing of it',
    async (event) => {
      const { socket, response, over } = pipelined();
      expect(over()).toBe(0);
      response.emit(event);
      expect(over()).toBe(1);
      socket.destroy();
      await turn();
      expect(over()).toBe(1);
    },
  );

  it('F72: is noticed when the connection closes before the response has it', async () => {
    const { socket, over } = pipelined();
    socket.destroy();
    await turn();
    expect(over()).toBe(1);
  });

  it.each([
    ['its connection has closed', (_: ServerResponse, socket: Socket) => socket.destroy()],
    ['it was destroyed, as by inject()', (response: ServerResponse) => response.destroy()],
  ])('F72: is there at once if %s before', async (_, end) => {
    const socket = new Socket();
    const response = new ServerResponse(new IncomingMessage(socket));
    response.assignSocket(new Socket());
    end(response, socket);
    await turn();
    let over = 0;
    const connection = new ClientConnection(response);
    connection.whenOver(() => (over += 1));
    expect(over).toBe(1);
    expect(connection.isGone).toBe(true);
  });
});
