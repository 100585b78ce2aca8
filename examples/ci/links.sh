#!/bin/sh
# Plans the short links of a file in a git repository, or creates them and pushes the file with them:
#
#   sh links.sh plan links.csv [options of shortlink import]
#   sh links.sh apply links.csv [options of shortlink import]
#
# It needs SHORTLINK_BASE_URL and, but for a plan, SHORTLINK_API_KEY. These may be set too:
#   LINKS_OUTPUT   another file for the short URLs, which is then the only one that is written
#   LINKS_BRANCH   a branch for a pull request; without it, the branch that is checked out is pushed
#   LINKS_BASE     the branch that is checked out, or that a pull request is for, where HEAD does not say it
#   LINKS_COMMIT   false: leave the filled in file to others
#   LINKS_FOLDER   the absolute path of a folder of this file alone, for the summaries and a copy of the filled in file
#   SHORTLINK_PROGRAM, SHORTLINK_NODE   the program, and a Node to run it, in place of npx
set -u
export GIT_LITERAL_PATHSPECS=1
mode=$1 file=$2
shift 2
case $file in -*) file=./$file ;; esac
target=${LINKS_OUTPUT:-$file}
folder=${LINKS_FOLDER:-$(mktemp -d)}
journal=$folder/journal
tries=0
mkdir -p -- "$folder"
# Rejects stay, because the log names their file.
[ -n "${LINKS_FOLDER:-}" ] || trap '[ -e "$folder/rejects.csv" ] || rm -rf -- "$folder"' EXIT

shortlink() {
  if [ -z "${SHORTLINK_PROGRAM:-}" ]; then npx --yes @shortlink/cli@0 "$@"
  else ${SHORTLINK_NODE:+"$SHORTLINK_NODE"} "$SHORTLINK_PROGRAM" "$@"; fi
}

import_file() {
  tries=$((tries + 1))
  if [ "$target" = "$file" ]; then set -- --in-place "$@"
  elif [ -e "$target" ]; then set -- -o "$target" --known "$target" "$@"
  else set -- -o "$target" "$@"; fi
  set -- --summary "$folder/summary-$tries.json" --rejects "$folder/rejects.csv" "$@"
  shortlink import "$file" --journal "$journal" "$@"
  status=$?
  if [ -e "$target" ]; then cp -- "$target" "$folder"; fi
}

# Ends the run with a sentence that says what is wrong.
fail() {
  printf '%s\n' "$1" | tee "$folder/lost" >&2
  exit "$2"
}
nothing() { fail "No link was created, because it couldn't be kept: $1 The log says more." 1; }

case $mode in
  plan) set -- --dry-run "$@" ;;
  apply) ;;
  *) fail "The mode is plan or apply, not $mode." 2 ;;
esac
[ -n "$file" ] || fail 'No file is named.' 2

name=$(basename -- "$target") parent=$(dirname -- "$target")
g() { git -C "$parent" "$@"; }
base=${LINKS_BASE:-$(g symbolic-ref --quiet --short HEAD 2> /dev/null)}

# The journal of an import whose push failed waits in a ref of its own: no protection of branches or tags reaches it, no workflow begins
# because of it, and unlike a cache it is never evicted, and whether it can be written is known before a link is created.
place=$base:$(g rev-parse --show-prefix 2> /dev/null)$name
ref=refs/shortlink/$(printf %s "$place" | LC_ALL=C tr -c 'A-Za-z0-9' - | cut -c 1-150)-$(printf %s "$place" | git hash-object --stdin | cut -c 1-8)
take_journal() {
  g fetch --quiet --no-tags origin "$ref" || return
  for part in -journal ''; do
    g cat-file -e "FETCH_HEAD:journal$part" 2> /dev/null || continue
    g cat-file blob "FETCH_HEAD:journal$part" > "$folder/part" && mv -- "$folder/part" "$journal$part" || return
  done
}

if [ "$mode" = plan ] && [ -n "$base" ] && [ -n "$(g ls-remote origin "$ref" 2> /dev/null)" ]; then take_journal; fi
if [ "$mode" = plan ] || [ "${LINKS_COMMIT:-}" = false ] || [ ! -e "$file" ] || [ ! -d "$parent" ]; then
  import_file "$@"
  exit "$status"
fi

# What is in flight when the job is cancelled ends, and is kept.
trap : INT TERM

g rev-parse --git-dir > /dev/null || nothing "git finds no repository in $parent. Check it out with git, which has to be installed."
if ! g config user.email > /dev/null; then
  author=shortlink mail=shortlink@localhost
  [ -z "${GITHUB_ACTIONS:-}" ] || author='github-actions[bot]' mail='41898282+github-actions[bot]@users.noreply.github.com'
  export GIT_AUTHOR_NAME="$author" GIT_AUTHOR_EMAIL="$mail" GIT_COMMITTER_NAME="$author" GIT_COMMITTER_EMAIL="$mail"
fi
[ -n "$base" ] || nothing 'HEAD is on no branch. Check the branch out, on GitHub with "ref: ${{ github.ref_name }}".'
branch=${LINKS_BRANCH:-$base}
onto=HEAD:refs/heads/$branch skip=' [skip ci]'
# A pull request is to be checked, and its branch is ours to replace.
[ "$branch" = "$base" ] || onto=+$onto skip=

packed() {
  # The second part is there where an import was killed while it wrote the first.
  tree=$(for part in '' -journal; do
    [ ! -e "$journal$part" ] || printf '100644 blob %s\tjournal%s\n' "$(g hash-object -w "$journal$part")" "$part"
  done | g mktree) && commit=$(g commit-tree -m "Links that $place lacks" "$tree") && echo "+$commit:$ref"
}
push() { g push --quiet --atomic origin "$@"; }

# Whatever the settings of git, a new file counts.
changes() { g status --porcelain --untracked-files=all -- "$name"; }

# Takes in what was pushed since the checkout. What earlier steps changed stays; where both changed a file, this fails.
catch_up() { g fetch --quiet origin "$base" && g merge --quiet --ff-only FETCH_HEAD; }

# Before anything is created, it is certain that the result can be kept.
catch_up || true
[ ! -L "$target" ] || nothing "$target is a symbolic link, which git doesn't follow. Name the file that it leads to."
if (unset GIT_LITERAL_PATHSPECS && g check-ignore --quiet -- "$name"); then nothing "$target is named in .gitignore."; fi
# A dry run with push options fails now and then: it sends them to a server that waits for none.
rehearse() { g -c push.pushOption= push --quiet --atomic --dry-run origin "$onto"; }
rehearse || { catch_up && rehearse; } ||
  nothing "nothing can be pushed to $branch. Give the job the right to push, on GitHub with \"permissions: contents: write\", and check out the newest commit."
kept=$(g ls-remote origin "$ref") || nothing "$ref can't be read."
# There, its path from the file is the same in every checkout, and it is in no commit. One that is there could not be pushed.
journal=$(g rev-parse --absolute-git-dir)/$(basename "$ref")
# What another clone has kept meanwhile comes first. An older journal of this one stays beside it, where an import finds its links.
waiting=${kept%%[!0-9a-f]*}
if [ -n "$kept" ] && [ -e "$journal" ] && [ "$waiting" != "$(g rev-parse --quiet --verify "$ref")" ]; then
  for part in -journal ''; do [ ! -e "$journal$part" ] || mv -- "$journal$part" "$journal.$waiting$part"; done
fi
if [ -n "$kept" ] && [ ! -e "$journal" ]; then take_journal || nothing "$ref can't be read."; fi
rest=$(packed)
push "$rest" || nothing "$ref can't be pushed."
commit=${rest#+}
g update-ref "$ref" "${commit%%:*}"
edited=$(changes) head=$(g rev-parse HEAD)
rows() { cat -- "$file" "$target" 2> /dev/null | g hash-object --stdin; }

pushes=0 is_filled=
while :; do
  [ -n "$is_filled" ] || import_file "$@"
  filled=$(changes)
  if [ -n "$filled" ]; then
    g add -- "$name" &&
      g commit --quiet --only -m "Fill in the short links of $name$skip" -- "$name" || break
  fi
  # Only a branch in which every row was settled, with or without a link, needs no journal.
  rest=$(packed)
  [ -e "$journal" ] || rest=:$ref
  if [ -z "$filled" ] || [ "$branch" = "$base" ]; then
    case $status in 0 | 3) rest=:$ref ;; esac
  fi
  if push ${filled:+"$onto"} "$rest"; then
    rm -f -- "$journal" "$journal-journal"
    [ -z "$filled" ] || printf '%s\n%s\n' "$base" "$branch" > "$folder/pushed"
    [ "$branch" = "$base" ] || g reset --quiet --keep "$head"
    exit "$status"
  fi
  pushes=$((pushes + 1))
  # Perhaps somebody else has pushed. The journal knows our links: a file that was changed gets these, and those of its new rows.
  if [ "$tries" -eq 5 ] || [ "$pushes" -eq 50 ] || [ -z "$filled" ] || [ -n "$edited" ] || [ "$branch" != "$base" ]; then break; fi
  if ! g fetch --quiet origin "$base" || g merge-base --is-ancestor FETCH_HEAD HEAD; then break; fi
  g reset --quiet --keep "$head" || break
  before=$(rows)
  catch_up || break
  head=$(g rev-parse HEAD) is_filled=
  if [ "$before" = "$(rows)" ]; then
    cp -- "$folder/$name" "$target" || break
    is_filled=true
  fi
done

[ "$status" -ne 0 ] || status=1
if push "$(packed)"; then
  rm -f -- "$journal" "$journal-journal"
  g reset --quiet --keep "$head"
  fail "$target couldn't be pushed to $branch. Its short URLs are kept in $ref, and the next run fills them in without creating one twice. The log says more." "$status"
fi
# In a clone that stays, the next run commits the file again.
g reset --quiet "$head"
fail "$target couldn't be pushed to $branch, nor can $ref be. Keep the file: it is the only one with its new short URLs." "$status"
