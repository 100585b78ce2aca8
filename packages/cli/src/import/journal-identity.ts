import type { JournalIdentity } from './journal/records.ts';
import type { Layout } from './read/layout.ts';
import type { Input } from './read/open-input.ts';
import type { ImportSettings } from './types.ts';

/** What the journal of an import belongs to. */
export function journalIdentity(
  input: Pick<Input, 'size'>,
  layout: Layout,
  settings: Pick<ImportSettings, 'defaults' | 'target'>,
  sha256: string,
): JournalIdentity {
  return {
    input: { size: input.size, sha256 },
    settings: rowSettings(layout, settings),
    target: settings.target,
  };
}

/** What decides, besides the input, which link stands at which position: it must not change between two runs. */
function rowSettings(
  layout: Layout,
  settings: Pick<ImportSettings, 'defaults'>,
): Record<string, unknown> {
  const { plan, tagSeparator = 'usual' } = layout;
  const { format, encoding, delimiter = '', hasHeader, mapping } = plan;
  const { tags = [], domain_id = '', redirect_type = 0 } = settings.defaults;
  return {
    format,
    encoding,
    delimiter,
    header: hasHeader,
    mapping,
    'tag separator': tagSeparator,
    'default tags': tags,
    'default domain': domain_id,
    'default redirect type': redirect_type,
  };
}
