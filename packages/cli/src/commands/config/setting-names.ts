import { maskKey } from '../../config/rules.ts';
import type { Setting, Settings } from '../../config/settings.ts';

/** Settings by the names of the config file. */
export const SETTING_NAMES = ['base_url', 'api_key', 'profile'] as const;
export type SettingName = (typeof SETTING_NAMES)[number];

/** A setting as it may be shown: a key is never whole. */
export function shownSetting(settings: Settings, name: SettingName): Setting | undefined {
  switch (name) {
    case 'base_url':
      return settings.baseUrl;
    case 'profile':
      return settings.profile;
    case 'api_key':
      return settings.apiKey && { ...settings.apiKey, value: maskKey(settings.apiKey.value) };
  }
}
