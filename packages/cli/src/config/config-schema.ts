import { z } from 'zod';
import { API_KEY_PATTERN, isBaseUrl, PROFILE_PATTERN } from './settings.ts';

const profileSchema = z.strictObject({
  api_key: z.string().regex(API_KEY_PATTERN, 'must be printable ASCII without spaces').optional(),
  base_url: z.string().refine(isBaseUrl, 'must be an absolute http: or https: URL').optional(),
});

/** Content of the config file. Strict: a mistyped name would otherwise be ignored silently. */
const configSchema = z.strictObject({
  profile: z.string().regex(PROFILE_PATTERN).optional(),
  profiles: z.record(z.string().regex(PROFILE_PATTERN), profileSchema).default({}),
});

/** What is wrong with a config file's content, in one line; undefined when nothing is. */
type ParsedConfig = { ok: true; config: Config } | { ok: false; problem: string };

export type Config = z.infer<typeof configSchema>;

export function parseConfig(value: unknown): ParsedConfig {
  const result = configSchema.safeParse(value);
  if (result.success) return { ok: true, config: result.data };
  // zod's messages name what is expected and not the value, which may be an API key in the wrong field.
  const problem = result.error.issues
    .map((issue) => `${issue.path.length > 0 ? `${issue.path.join('.')}: ` : ''}${issue.message}`)
    .join('; ');
  return { ok: false, problem };
}
