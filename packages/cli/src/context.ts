import type { Shortlink, ShortlinkOptions } from '@shortlink/sdk';
import { authenticationError, interruptedError, usageError } from './cli-error.ts';
import { configPath, readConfig } from './config/config-file.ts';
import type { Config } from './config/config-schema.ts';
import { type AccountOptions, resolveSettings } from './config/settings.ts';
import { present } from './format.ts';
import type { Io } from './io.ts';
import { Printer, type PrinterOptions, traceLogger } from './output/printer.ts';
import { proxyFetch } from './proxy-fetch.ts';

export interface GlobalOptions extends AccountOptions, PrinterOptions {
  verbose?: boolean | undefined;
  timeout?: number | undefined;
  maxRetries?: number | undefined;
}

export interface Account {
  baseUrl: string;
  apiKey: string;
}

/** Made once the command line is parsed; settings and client are made on demand. */
export class Context {
  readonly io: Io;
  /** They may hold an API key. */
  readonly argv: readonly string[];
  readonly globals: GlobalOptions;
  readonly printer: Printer;
  readonly configPath: string;
  #config: Promise<Config> | undefined;

  constructor(io: Io, argv: readonly string[], globals: GlobalOptions) {
    this.io = io;
    this.argv = argv;
    this.globals = globals;
    this.printer = new Printer(io, globals);
    this.printer.hide(globals.apiKey);
    this.printer.hide(io.env['SHORTLINK_API_KEY']);
    this.configPath = configPath(io);
  }

  config(): Promise<Config> {
    this.#config ??= readConfig(this.configPath, this.io.platform).then(({ config, warning }) => {
      for (const profile of Object.values(config.profiles)) this.printer.hide(profile.api_key);
      if (warning !== undefined) this.printer.warn(warning);
      return config;
    });
    return this.#config;
  }

  /** The flag of suggested commands, so that they are about the same profile. */
  get profileFlag(): string {
    const { profile } = this.globals;
    return profile === undefined ? '' : ` --profile ${profile}`;
  }

  async settings(newProfile = false) {
    return resolveSettings(this.globals, this.io.env, await this.config(), newProfile);
  }

  /** Throws an error that says how to name an account. */
  async account(): Promise<Account> {
    const { apiKey, baseUrl, otherAddress, profile } = await this.settings();
    const flag = this.profileFlag;
    if (baseUrl === undefined) {
      throw usageError(
        'No server is set.',
        `Pass --base-url URL, or set SHORTLINK_BASE_URL.\nOr store both address and key with: shortlink auth login${flag}`,
      );
    }
    if (otherAddress !== undefined) {
      throw authenticationError(
        `No API key is set for ${baseUrl.value}. The stored key is for ${otherAddress} only.`,
        `Set SHORTLINK_API_KEY, or store a key with: shortlink auth login --base-url ${baseUrl.value}${flag}`,
      );
    }
    if (apiKey === undefined) {
      throw authenticationError(
        'No API key is set.',
        `Set SHORTLINK_API_KEY, or store a key with: shortlink auth login${flag}`,
      );
    }
    const { api_key, base_url } = (await this.config()).profiles[profile.value] ?? {};
    const replacing = present(
      api_key !== undefined && apiKey.source === 'environment' && 'SHORTLINK_API_KEY',
      base_url !== undefined && baseUrl.source === 'environment' && 'SHORTLINK_BASE_URL',
    ).join(' and ');
    if (profile.source === 'flag' && replacing !== '') {
      const message = `${replacing} of the environment is used in place of what profile ${profile.value} has.`;
      this.printer.warn(message);
    }
    return { baseUrl: baseUrl.value, apiKey: apiKey.value };
  }

  /** The SDK is loaded here and not before: help and usage errors need none of it. */
  async client(account: Account, options: Partial<ShortlinkOptions> = {}): Promise<Shortlink> {
    this.printer.hide(account.apiKey);
    const { Shortlink } = await import('@shortlink/sdk');
    return new Shortlink({
      apiKey: account.apiKey,
      baseUrl: account.baseUrl,
      fetch: await proxyFetch(this.io.env),
      timeoutMs: this.globals.timeout,
      maxRetries: this.globals.maxRetries,
      logger: traceLogger(this.printer, this.globals.verbose === true),
      ...options,
    });
  }

  /** Runs `work` with a signal that the first Ctrl-C aborts. A second one ends the process even if `work` ignores the signal. */
  async interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const off = this.io.onInterrupt(() => {
      off();
      controller.abort(interruptedError());
    });
    try {
      return await work(controller.signal);
    } finally {
      off();
    }
  }
}
