import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Connections } from './connections.ts';

function connect() {
  const server = new EventEmitter();
  const connections = new Connections(server as Server);
  const socket = Object.assign(new EventEmitter(), { bytesRead: 0, end: vi.fn() });
  server.emit('connection', socket);
  return { connections, socket };
}

test('while the server stops, a connection that was just opened has a second for its first request', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(5_000);
  onTestFinished(() => now.mockRestore());
  const { connections, socket } = connect();
  connections.closeUnused();
  expect(socket.end).not.toHaveBeenCalled();
  now.mockReturnValue(6_000);
  connections.closeUnused();
  expect(socket.end).toHaveBeenCalledOnce();
});

test('every response that a lost connection leaves behind hears of its end', () => {
  const { connections, socket } = connect();
  const ends = [1, 2, 3].map(() => {
    const response = Object.assign(new EventEmitter(), { socket: null });
    connections.begin({ socket } as unknown as IncomingMessage, response as ServerResponse);
    const onClose = vi.fn();
    response.on('close', onClose);
    return onClose;
  });
  socket.emit('close');
  for (const onClose of ends) expect(onClose).toHaveBeenCalledOnce();
});
