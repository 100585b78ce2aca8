/** What browsers send with a page that they load before anybody asks for it (https://wicg.github.io/nav-speculation/prefetch.html), or show as a thumbnail. */
const PURPOSES = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const;
const AHEAD = /prefetch|preview/i;

/**
 * How programs name themselves that fetch a link somebody has written into a message or a post, to show what it leads to. Search engines and
 * other robots are not among them, nor the browsers inside of apps, with which people follow links.
 */
const AGENTS =
  /facebookexternalhit|facebot|slackbot|slack-imgproxy|twitterbot|linkedinbot|discordbot|telegrambot|^whatsapp\/|skypeuripreview|microsoftpreview|redditbot|pinterestbot|mastodon\/|bluesky cardyb|mattermost-bot|viber\/|snap url preview|vkshare|iframely|embedly/i;

/** Whether a request fetches a link that nobody has followed, or not yet: a prefetch of a browser, or the preview of a chat or social program. */
export function isPreview(header: (name: string) => string | string[] | undefined): boolean {
  return (
    PURPOSES.some((name) => AHEAD.test(String(header(name) ?? ''))) ||
    AGENTS.test(String(header('user-agent') ?? ''))
  );
}
