/**
 * The Shortlink reference server as a library: the service as a Hono app, on any store.
 *
 * @packageDocumentation
 */

// Accounts and keys, as the admin commands make them
export { createAccount } from './admin/accounts.ts';
export { createKey } from './admin/keys.ts';
// The app, alone and with the work behind it
export { type AppOptions, createApp } from './app.ts';
export type { TargetHosts } from './domain/targets.ts';
export { createLogger } from './logger.ts';
// The database that the settings name
export { openStore } from './open-store.ts';
export { createService, type Service, type ServiceOptions } from './service.ts';
export { LOG_LEVELS, type LogLevel } from './setting-values.ts';
// Settings and logs
export { ConfigError, type RawSettings, readSettings, type Settings } from './settings.ts';
// A listening server
export { type RunningServer, startServer } from './start-server.ts';
// Stores
export { openSqliteStore, type SqliteStoreOptions } from './store/sqlite/index.ts';
export type { Account, ApiKey, Caller, Domain, Redirect, Store } from './store/store.ts';
export { StoreError, type StoreErrorReason } from './store/store-error.ts';
