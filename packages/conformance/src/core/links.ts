import type { Session } from '../session.ts';
import {
  demand,
  type Exchange,
  Fails,
  fieldsOf,
  NotShown,
  objectsIn,
  type Statement,
  show,
} from '../statement.ts';
import {
  bareLink,
  createLink,
  endsWithCode,
  fullLink,
  isOfProtocol,
  isSuccess,
  LINKS,
  LOOKUP,
  refused,
  TAGS,
  TITLE,
} from './facts.ts';

/** Fields of a link, and whether a value is of the field's type. */
const FIELDS: Record<string, (value: unknown) => boolean> = {
  id: (value) => typeof value === 'string' && value !== '',
  code: (value) => typeof value === 'string' && value !== '',
  short_url: (value) => typeof value === 'string',
  target_url: (value) => typeof value === 'string',
  title: (value) => typeof value === 'string',
  redirect_type: (value) => value === 301 || value === 302 || value === 307,
  is_active: (value) => typeof value === 'boolean',
  click_count: (value) => Number.isInteger(value),
  tags: (value) => Array.isArray(value) && value.every((tag) => typeof tag === 'string'),
  created_at: (value) => typeof value === 'string',
};

const ISO_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]00:?00)$/;

/** Demands a field of a created link. */
function demandField(exchange: Exchange, name: string, wanted: unknown): void {
  const value = fieldsOf(exchange)[name];
  const reason = `${name} is ${show(value)}, not ${show(wanted)}`;
  demand(JSON.stringify(value) === JSON.stringify(wanted), reason, exchange);
}

const hostOf = (shortUrl: unknown) => URL.parse(String(shortUrl))?.host;

export const requestStatements: Statement[] = [
  {
    id: 'json-bodies',
    section: 'Requests and responses',
    text: 'Bodies of requests and responses are JSON.',
    runs: 'last',
    check: async (session) => {
      for (const exchange of session.exchanges.filter(isOfProtocol).filter(isSuccess)) {
        // The protocol asks for this header in requests only. One of another type says that the body is no JSON.
        const type = exchange.response.headers['content-type'] ?? 'application/json';
        demand(
          /^application\/([\w.-]+\+)?json\b/i.test(type),
          `the content type is ${type}`,
          exchange,
        );
        const hasFields = Object.keys(fieldsOf(exchange)).length > 0;
        demand(hasFields, 'the body is no JSON object', exchange);
      }
      return [await bareLink(session)];
    },
  },
  {
    id: 'content-type',
    section: 'Requests and responses',
    text: 'Requests with a body send `Content-Type: application/json`.',
    check: async (session) => [await fullLink(session)],
  },
];

export const linkStatements: Statement[] = [
  {
    id: 'link-fields',
    section: 'Links',
    text: 'A link has `id`, `code`, `short_url`, `target_url`, `title`, `redirect_type`, `is_active`, `click_count`, `tags`, `created_at`, with their types.',
    check: async (session) => {
      const links = [await fullLink(session), await bareLink(session)];
      for (const link of links) {
        for (const [name, isRight] of Object.entries(FIELDS)) {
          const value = fieldsOf(link)[name];
          demand(isRight(value), `${name} is ${show(value)}`, link);
        }
      }
      return links;
    },
  },
  {
    id: 'assigned-by-service',
    section: 'Links',
    text: '`id` and `code` are assigned by the service.',
    check: async (session) => {
      const own = { id: 'chosen-by-caller', code: 'chosen1' };
      const body = { target_url: session.target('assigned'), ...own };
      const link = await session.send('POST', LINKS, { body, links: 1 });
      const first = await fullLink(session);
      for (const [name, sent] of Object.entries(own)) {
        const value = fieldsOf(link)[name];
        demand(value !== sent, `${name} is what the caller sent`, link);
        if (isSuccess(link) && value === undefined) {
          throw new NotShown(`the link has no ${name}`, [link]);
        }
        const isOther = !isSuccess(link) || value !== fieldsOf(first)[name];
        demand(isOther, `two links have the same ${name}`, first, link);
      }
      return [link];
    },
  },
  {
    id: 'code-in-short-url',
    section: 'Links',
    text: '`code` is the last path segment of `short_url`.',
    check: async (session) => {
      const link = await fullLink(session);
      const { code, short_url } = fieldsOf(link);
      demand(
        endsWithCode(short_url, code),
        `${show(short_url)} doesn't end with ${show(code)}`,
        link,
      );
      return [link];
    },
  },
  {
    id: 'absolute-short-url',
    section: 'Links',
    text: '`short_url` is absolute, formed from the short-link domain and `code`.',
    check: async (session) => {
      const links = [await fullLink(session), await bareLink(session)];
      for (const link of links) {
        const { short_url } = fieldsOf(link);
        const isHttp =
          /^https?:\/\/[^/]/.test(String(short_url)) && hostOf(short_url) !== undefined;
        demand(isHttp, `short_url is ${show(short_url)}`, link);
      }
      const [first, second] = links.map((link) => hostOf(fieldsOf(link)['short_url']));
      demand(first === second, 'two links of the default domain have different hosts', ...links);
      return links;
    },
  },
  {
    id: 'text-kept',
    section: 'Links',
    text: '`target_url` and `title` come back as they were sent.',
    check: async (session) => {
      const path = 'kept/%E2%9C%93?q=a+b&r=%20#part';
      const link = await createLink(session, path, { title: TITLE });
      demandField(link, 'target_url', session.target(path));
      demandField(link, 'title', TITLE);
      return [link];
    },
  },
  {
    id: 'redirect-types',
    section: 'Links',
    text: '`redirect_type` is 301, 302 or 307.',
    check: async (session) => {
      const permanent = await fullLink(session);
      demandField(permanent, 'redirect_type', 301);
      const temporary = await createLink(session, 'temporary', { redirect_type: 307 });
      demandField(temporary, 'redirect_type', 307);
      const others: Exchange[] = [];
      for (const redirect_type of [303, 308]) {
        const body = { target_url: session.target(redirect_type), redirect_type };
        const other = await session.send('POST', LINKS, { body, links: 1 });
        const type = fieldsOf(other)['redirect_type'];
        const isKnown = !isSuccess(other) || FIELDS['redirect_type']?.(type) === true;
        demand(isKnown, `a link has the redirect_type ${show(type)}`, other);
        others.push(other);
      }
      return [permanent, temporary, ...others];
    },
  },
  {
    id: 'redirect-default',
    section: 'Links',
    text: '`redirect_type` is 302 by default.',
    check: async (session) => {
      const link = await bareLink(session);
      demandField(link, 'redirect_type', 302);
      return [link];
    },
  },
  {
    id: 'new-link-state',
    section: 'Links',
    text: '`is_active` is true, `click_count` 0 on a new link.',
    check: async (session) => {
      const link = await bareLink(session);
      demandField(link, 'is_active', true);
      demandField(link, 'click_count', 0);
      return [link];
    },
  },
  {
    id: 'click-counter',
    section: 'Links',
    text: 'The click counter counts.',
    check: countClick,
  },
  {
    id: 'created-at',
    section: 'Links',
    text: '`created_at` is ISO 8601 in UTC.',
    check: async (session) => {
      const link = await bareLink(session);
      const { created_at } = fieldsOf(link);
      const isUtc =
        ISO_UTC.test(String(created_at)) && !Number.isNaN(Date.parse(String(created_at)));
      demand(isUtc, `created_at is ${show(created_at)}`, link);
      // The service's own clock, where it sends one: that of this machine may be wrong.
      const now = Date.parse(link.response.headers['date'] ?? '');
      const isNow = Number.isNaN(now) || Math.abs(now - Date.parse(String(created_at))) < 600_000;
      demand(isNow, `created_at is ${show(created_at)}, the response's Date another time`, link);
      return [link];
    },
  },
  {
    id: 'custom-domain',
    section: 'Links',
    text: '`domain_id` selects a custom domain.',
    check: async (session) => {
      const [domain_id] = session.options.domainIds ?? [];
      if (domain_id === undefined) throw new NotShown('needs a custom domain: --domain-id');
      const links = [await bareLink(session), await createLink(session, 'domain', { domain_id })];
      const [ours, theirs] = links.map((link) => hostOf(fieldsOf(link)['short_url']));
      if (theirs === undefined) throw new NotShown('the link has no short URL', links);
      demand(ours !== theirs, `both links are on ${ours}`, ...links);
      return links;
    },
  },
];

export const createStatements: Statement[] = [
  {
    id: 'created-link',
    section: 'POST /api/v1/links',
    text: 'The response is the created link.',
    check: async (session) => {
      const link = await fullLink(session);
      demandField(link, 'target_url', session.target('full'));
      demandField(link, 'title', TITLE);
      demandField(link, 'tags', TAGS);
      return [link];
    },
  },
  {
    id: 'target-required',
    section: 'POST /api/v1/links',
    text: '`target_url` is required.',
    check: async (session) => {
      const link = await session.send('POST', LINKS, { body: { title: TITLE }, links: 1 });
      return [refused(link, 'a link without target_url')];
    },
  },
  {
    id: 'optional-fields',
    section: 'POST /api/v1/links',
    text: '`title`, `domain_id`, `redirect_type`, `tags` are optional.',
    check: async (session) => [await bareLink(session)],
  },
];

/** Follows a short URL once and asks the service what it counted, which only a look-up can tell. */
async function countClick(session: Session): Promise<Exchange[]> {
  if (!session.features.includes('lookup')) {
    throw new NotShown('needs a service that shows a link again: the protocol has no such request');
  }
  const { code, short_url } = fieldsOf(await bareLink(session));
  const follow = await session
    .send('GET', String(short_url), { key: null })
    .catch((error: Error) => {
      // The short-link domain of a service need not be known where the run is.
      throw error instanceof Fails ? new NotShown(error.message) : error;
    });
  for (let attempt = 1; ; attempt++) {
    const found = await session.send('POST', LOOKUP, { body: { codes: [code] } });
    const [result = {}] = objectsIn(fieldsOf(found), 'results');
    const count = objectsIn(result, 'links')[0]?.['click_count'];
    if (count === 1) return [follow, found];
    // Services may count late.
    const isLate = count === 0 && attempt < 5;
    demand(isLate, `after one visit click_count is ${show(count)}`, follow, found);
    await session.sleep(1_000);
  }
}
