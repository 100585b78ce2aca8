import { usageError } from '../cli-error.ts';
import type { Config } from './config-schema.ts';

/** Where a setting came from, strongest first. */
type SettingSource = 'flag' | 'environment' | 'config file' | 'default';

export interface Setting {
  value: string;
  source: SettingSource;
}

export interface Settings {
  profile: Setting;
  apiKey: Setting | undefined;
  baseUrl: Setting | undefined;
  /** The address that the stored key is for, where that is why it is not used. */
  otherAddress: string | undefined;
}

interface SettingFlags {
  apiKey?: string | undefined;
  baseUrl?: string | undefined;
  profile?: string | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

interface SettingsInput {
  flags: SettingFlags;
  env: Env;
  config: Config;
  /** `true` for commands that create profiles: the profile need not exist yet. */
  newProfile?: boolean | undefined;
}

/**
 * Flag, then environment, then config file. Empty environment variables count as not set. A stored key is used for the address that it
 * was stored with, and for no other one.
 */
export function resolveSettings(input: SettingsInput): Settings {
  const profile = resolveProfile(input);
  const { api_key: key, base_url: address } = input.config.profiles[profile.value] ?? {};
  const given = first(input.flags.baseUrl, input.env['SHORTLINK_BASE_URL'], address);
  const baseUrl = check(
    given && { ...given, value: withoutApiPath(given.value) },
    isBaseUrl,
    (source, value) =>
      `The base URL (${source}) must be an absolute http: or https: URL without query or credentials, such as https://sho.rt; got ${JSON.stringify(withoutCredentials(value))}.`,
  );
  const isOther = address !== undefined && !isSameService(address, baseUrl?.value ?? address);
  const apiKey = check(
    first(input.flags.apiKey, input.env['SHORTLINK_API_KEY'], isOther ? undefined : key),
    (value) => API_KEY_PATTERN.test(value),
    (source) => `The API key (${source}) must be printable ASCII without spaces.`,
  );
  const otherAddress = isOther && apiKey === undefined && key !== undefined ? address : undefined;
  return { profile, apiKey, baseUrl, otherAddress };
}

function resolveProfile({ flags, env, config, newProfile }: SettingsInput): Setting {
  const profile = first(flags.profile, env['SHORTLINK_PROFILE'], config.profile) ?? {
    value: DEFAULT_PROFILE,
    source: 'default',
  };
  check(
    profile,
    (value) => PROFILE_PATTERN.test(value),
    (source) => `The profile name (${source}) may hold letters, digits and . _ - only.`,
  );
  const named = profile.source === 'flag' || profile.source === 'environment';
  if (named && newProfile !== true && !Object.hasOwn(config.profiles, profile.value)) {
    const names = Object.keys(config.profiles);
    throw usageError(
      `There is no profile ${JSON.stringify(profile.value)} (${profile.source}).`,
      names.length > 0
        ? `Profiles: ${names.join(', ')}\nCreate it with: shortlink auth login --profile ${profile.value}`
        : `Create it with: shortlink auth login --profile ${profile.value}`,
    );
  }
  return profile;
}

function first(
  flag: string | undefined,
  environment: string | undefined,
  file: string | undefined,
): Setting | undefined {
  if (flag !== undefined) return { value: flag, source: 'flag' };
  if (environment !== undefined && environment !== '') {
    return { value: environment, source: 'environment' };
  }
  return file === undefined ? undefined : { value: file, source: 'config file' };
}

function check(
  setting: Setting | undefined,
  accepts: (value: string) => boolean,
  complaint: (source: SettingSource, value: string) => string,
): Setting | undefined {
  if (setting !== undefined && !accepts(setting.value)) {
    throw usageError(complaint(setting.source, setting.value));
  }
  return setting;
}

/** `https://user:password@host` is refused, and must not be repeated. */
function withoutCredentials(value: string): string {
  return value.replace(/(\/\/)?[^/]*@/u, '$1****@');
}

/** Letters, digits and `._-`; also safe as a part of a file name or an environment variable's value. */
export const PROFILE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Printable ASCII without spaces: anything else can't be sent in a header, and `fetch` would print the key in its error. */
export const API_KEY_PATTERN = /^[\x21-\x7e]+$/;

/** The profile used where none was ever named. */
const DEFAULT_PROFILE = 'default';

export function isBaseUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return (
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.username === '' &&
    url.password === '' &&
    url.search === '' &&
    url.hash === ''
  );
}

/** Documentation often shows the address with the path of the API, which the client adds by itself. */
export function withoutApiPath(baseUrl: string): string {
  return baseUrl.replace(/\/api\/v1\/*$/, '');
}

/** One spelling of a service's address: `http://host` and `http://host/` are the same service. */
export function serviceUrl(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname.replace(/\/+$/, '');
}

export function isSameService(one: string, other: string): boolean {
  return serviceUrl(one) === serviceUrl(other);
}

/** What a suggested command needs so that it is about the same profile. */
export function profileFlag({ value, source }: Setting): string {
  return source === 'flag' ? ` --profile ${value}` : '';
}

/** The last four characters of a long key: enough to recognize it, too few to use it. */
export function maskKey(key: string): string {
  return key.length >= 16 ? `****${key.slice(-4)}` : '****';
}
