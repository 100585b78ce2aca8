/**
 * The Shortlink reference server as a library: the whole service, on a port or as a Hono app.
 *
 * @packageDocumentation
 */

export { createLogger } from './logger.ts';
export { type DatabaseSetting, LOG_LEVELS, type LogLevel } from './setting-values.ts';
export { ConfigError, type RawSettings, readSettings, type Settings } from './settings.ts';
export {
  createApp,
  type RunningApp,
  type RunningServer,
  type StartOptions,
  startServer,
} from './start-server.ts';
export { StoreError, type StoreErrorReason } from './store/store-error.ts';
