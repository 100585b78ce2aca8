import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { DatabaseError } from 'pg';
import { expect, test } from 'vitest';
import { StoreError } from '../store-error.ts';
import { isConflict, isConnectionLost, toStoreError } from './postgres-errors.ts';

function sqlError(code: string): DatabaseError {
  return Object.assign(new DatabaseError('words', 1, 'error'), { code });
}

test.each([
  ['08006', 'unavailable'],
  ['25006', 'read_only'],
  ['25P03', 'unavailable'],
  ['25P04', 'busy'],
  ['28P01', 'unavailable'],
  ['3D000', 'unavailable'],
  ['40001', 'busy'],
  ['40P01', 'busy'],
  ['42P01', 'unavailable'],
  ['53100', 'full'],
  ['53300', 'busy'],
  ['55000', 'unavailable'],
  ['55P03', 'busy'],
  ['57014', 'busy'],
  ['57P01', 'unavailable'],
  ['57P03', 'unavailable'],
  ['58030', 'unavailable'],
  ['XX001', 'corrupt'],
  ['XX000', 'internal'],
  ['23505', 'internal'],
  ['42601', 'internal'],
])('SQLSTATE %s is %s', (code, reason) => {
  const cause = sqlError(code);
  expect(toStoreError(cause, 'postgres://db/x')).toMatchObject({
    name: 'StoreError',
    reason,
    cause,
    message: expect.stringMatching(/^The database postgres:\/\/db\/x .*\.$/),
  });
});

test.each([
  ['57P01', true],
  ['57P02', true],
  ['08006', true],
  ['25P03', true],
  ['57014', false],
  ['40001', false],
  ['23505', false],
])('after SQLSTATE %s the session is gone: %s', (code, lost) => {
  expect(isConnectionLost(sqlError(code))).toBe(lost);
});

test.each([
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'Query read timeout',
  'timeout expired',
  'Client has encountered a connection error and is not queryable',
])('the driver’s "%s" is a lost connection', (message) => {
  expect(isConnectionLost(new Error(message))).toBe(true);
  expect(toStoreError(new Error(message), 'x')).toMatchObject({ reason: 'unavailable' });
});

test('a refused connection is a lost one, of one address and of several', async () => {
  const refused = await new Promise<Error>((resolve) => {
    connect(1, '127.0.0.1').on('error', resolve);
  });
  expect(isConnectionLost(refused)).toBe(true);
  const ofSeveral = Object.assign(new AggregateError([refused, refused]), { code: 'ECONNREFUSED' });
  expect(isConnectionLost(ofSeveral)).toBe(true);
  expect(toStoreError(ofSeveral, 'x').message).toBe(
    'The database x can not be reached (ECONNREFUSED).',
  );
});

test('a connection that is closed during the TLS handshake is a lost one', async () => {
  const server = createServer((socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const closed = await new Promise<Error>((resolve) => {
    connectTls(port, '127.0.0.1').on('error', resolve);
  });
  server.close();
  expect(isConnectionLost(closed)).toBe(true);
  expect(toStoreError(closed, 'x')).toMatchObject({ reason: 'unavailable' });
});

test('anything else is a fault of ours', () => {
  expect(isConnectionLost(new TypeError('x is not a function'))).toBe(false);
  expect(toStoreError(new TypeError('x is not a function'), 'x')).toMatchObject({
    reason: 'internal',
  });
  expect(toStoreError('thrown text', 'x').message).toBe('The database x failed: thrown text.');
});

test('a StoreError stays what it is', () => {
  const error = new StoreError('full', 'no space');
  expect(toStoreError(error, 'x')).toBe(error);
});

test('conflicts are serialization failures and deadlocks', () => {
  expect(['40001', '40P01', '23505'].map((code) => isConflict(sqlError(code)))).toEqual([
    true,
    true,
    false,
  ]);
});
