import { usageError } from '../cli-error.ts';
import type { Io } from '../io.ts';
import type { Config } from './config-schema.ts';

interface Setting {
  value: string;
  /** Strongest first. */
  source: 'flag' | 'environment' | 'config file' | 'default';
}

export interface AccountOptions {
  apiKey?: string | undefined;
  baseUrl?: string | undefined;
  profile?: string | undefined;
}

/**
 * Flag, then environment, then config file. A stored key is used for the address that it was stored with, and for no other one. With
 * `newProfile`, a profile that doesn't exist yet is no error. `otherAddress` is that of the stored key, where that is why it is not used.
 */
export function resolveSettings(
  flags: AccountOptions,
  env: Io['env'],
  config: Config,
  newProfile: boolean,
) {
  const named = first(flags.profile, env['SHORTLINK_PROFILE'], config.profile);
  const profile: Setting = named ?? { value: 'default', source: 'default' };
  checkedProfile(profile.value, profile.source, config, newProfile);
  const { api_key: key, base_url: address } = config.profiles[profile.value] ?? {};
  const baseUrl = first(flags.baseUrl, env['SHORTLINK_BASE_URL'], address);
  if (baseUrl !== undefined) {
    baseUrl.value = checkedBaseUrl(baseUrl.value, `The base URL (${baseUrl.source})`);
  }
  const isOther = address !== undefined && !isSameService(address, baseUrl?.value ?? address);
  const apiKey = first(flags.apiKey, env['SHORTLINK_API_KEY'], isOther ? undefined : key);
  if (apiKey !== undefined && !API_KEY_PATTERN.test(apiKey.value)) {
    throw usageError(`The API key (${apiKey.source}) must be printable ASCII without spaces.`);
  }
  const otherAddress = isOther && apiKey === undefined && key !== undefined ? address : undefined;
  return { profile, apiKey, baseUrl, otherAddress };
}

/** Throws a CliError (exit code 2) for a name that can't be used, and for one that was given of a profile that there is not, unless it may be new. */
export function checkedProfile(value: string, source: string, config: Config, newProfile = false) {
  if (!PROFILE_PATTERN.test(value)) {
    throw usageError(`The profile name (${source}) may hold letters, digits and . _ - only.`);
  }
  const isNamed = source !== 'config file' && source !== 'default';
  if (isNamed && !newProfile && !Object.hasOwn(config.profiles, value)) {
    const names = Object.keys(config.profiles);
    throw usageError(
      `There is no profile ${JSON.stringify(value)} (${source}).`,
      `${names.length > 0 ? `Profiles: ${names.join(', ')}\n` : ''}Create it with: shortlink auth login --profile ${value}`,
    );
  }
  return value;
}

function first(flag?: string, environment?: string, file?: string): Setting | undefined {
  if (flag !== undefined) return { value: flag, source: 'flag' };
  if (environment) return { value: environment, source: 'environment' };
  return file === undefined ? undefined : { value: file, source: 'config file' };
}

/** Safe as a part of a file name too. */
export const PROFILE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Anything else can't be sent in a header, and `fetch` would print the key in its error. */
export const API_KEY_PATTERN = /^[\x21-\x7e]+$/;

export function isBaseUrl(value: string): boolean {
  const { protocol = '', username, password, search, hash } = URL.parse(value) ?? {};
  return /^https?:$/.test(protocol) && !username && !password && !search && !hash;
}

/** An address of a service. Throws a CliError (exit code 2) that says what it was given as. */
export function checkedBaseUrl(typed: string, what: string): string {
  const baseUrl = withoutApiPath(typed);
  if (isBaseUrl(baseUrl)) return baseUrl;
  // `https://user:password@host` must not be repeated.
  const shown = JSON.stringify(baseUrl.replace(/(\/\/)?[^/]*@/u, '$1****@'));
  throw usageError(
    `${what} must be an absolute http: or https: URL without query or credentials, such as https://sho.rt; got ${shown}.`,
  );
}

/** Documentation often shows the address with the path of the API. */
export function withoutApiPath(baseUrl: string): string {
  return baseUrl.replace(/\/api\/v1\/*$/, '');
}

/** `http://host` and `http://host/` are the same service. */
export function serviceUrl(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname.replace(/\/+$/, '');
}

export function isSameService(one: string, other: string): boolean {
  return serviceUrl(withoutApiPath(one)) === serviceUrl(withoutApiPath(other));
}

/** The last four characters: enough to recognize the key, too few to use it. */
export function maskKey(key: string): string {
  return key.length >= 16 ? `****${key.slice(-4)}` : '****';
}
