import type {
  CooldownEvent,
  RequestEvent,
  ResponseEvent,
  RetryEvent,
  ShortlinkHooks,
} from './hooks.ts';
import type { Logger } from './logger.ts';

/** Tells the caller's hooks and logger what happens. Nothing they throw gets out of here. */
export interface Reporter {
  request(event: RequestEvent): void;
  response(event: ResponseEvent): void;
  retry(event: RetryEvent): void;
  cooldown(event: CooldownEvent): void;
}

export function createReporter(
  hooks: ShortlinkHooks | undefined,
  logger: Partial<Logger> | undefined,
): Reporter {
  const log = (level: keyof Logger, message: string, fields: object) => {
    try {
      logger?.[level]?.(message, fields);
    } catch {
      // A logger that fails has nowhere to say so.
    }
  };
  const call = (name: keyof ShortlinkHooks, hook: () => unknown) => {
    const onError = (error: unknown) => log('error', `${name} threw`, { error });
    try {
      const result = hook();
      // An async function is allowed by the type; its rejection must not become an unhandled one.
      if (result instanceof Promise) result.catch(onError);
    } catch (error) {
      onError(error);
    }
  };
  return {
    request(event) {
      log('debug', 'request', event);
      call('onRequest', () => hooks?.onRequest?.(event));
    },
    response(event) {
      const { quota: _, ...fields } = event;
      log('debug', 'response', fields);
      call('onResponse', () => hooks?.onResponse?.(event));
    },
    retry(event) {
      const { error, ...fields } = event;
      log('info', 'retry', { ...fields, reason: `${error.name}: ${error.message}` });
      call('onRetry', () => hooks?.onRetry?.(event));
    },
    cooldown(event) {
      log('warn', 'rate limited, the client pauses', event);
      call('onCooldown', () => hooks?.onCooldown?.(event));
    },
  };
}
