# The quickstart on real machines. Sourced by ./quickstart.
node "$root/scripts/get-tools.ts" disk
node "$root/scripts/build-agent.ts"

here="$root/examples/quickstart"

step "1. Start the daemon, and look at what this computer has"
run up --provider local
run doctor || true

step "2. Build a recipe into a bootable disk, sealed as a candidate"
run build "$here/imago.yaml"
version=$("$imago" image list first-node -o name | head -n 1)
run image notes "$version" | head -n 25 || true

step "3. Test it: two machines at once, by each kind of firmware, one started again"
run test "$version"

step "4. Promote it: staging, then production"
run channel promote "$version" --to staging --reason "quickstart"
run channel promote "$version" --to production --reason "quickstart: tests passed on this digest"

step "5. A pool of three machines that follows production"
if "$imago" pool show web -q >/dev/null 2>&1; then run pool delete web --yes; fi
run pool create web --image first-node:production --nodes 3 --node-config "$here/node.yaml"
run node list --pool web
mapfile -t nodes < <("$imago" node list --pool web -o name)
first=${nodes[0]}

step "6. Which version was each made from, and which move of the channel answered?"
for node in "${nodes[@]}"; do run node which "$node"; done

step "7. Where the time went while $first started"
run node timeline "$first"

step "8. Change a running node in place: first what it would cost, then the change"
run node config set "$first" "$here/node-later.yaml" --dry-run
run node config set "$first" "$here/node-later.yaml"

step "9. A hotfix, before any image has it: fetched by the node, checked by its sha256"
fix=$(mktemp -d)
printf '#!/bin/sh\necho "hotfix 1.0.1"\n' >"$fix/hello"
# By itself, not below a shell: what is ended is the server.
coproc server { exec node "$root/scripts/serve-folder.ts" "$fix"; }
server_pid=$server_PID
trap 'kill "$server_pid" 2>/dev/null || true; rm -rf "$fix"' EXIT
read -r port <&"${server[0]}"
run node config hotfix "$first" --component hello --version 1.0.1 --cost live --to /usr/local/bin/hello \
  --source "http://168.63.129.1:$port/hello" --sha256 "$(sha256sum "$fix/hello" | cut -d' ' -f1)"
kill "$server_pid" 2>/dev/null || true
run node show "$first"

if [ "$keep" = yes ]; then
  step "Done. The pool and the daemon run; what to try next"
  cat <<NEXT
  export IMAGO_HOME=$IMAGO_HOME PATH=$root/bin:\$PATH
  imago node shell $first                      # look around; leave with Ctrl-D
  imago pool scale web --nodes 4
  imago image diff A B                              # after a second build: what changed, exactly
  imago down                                        # stop machines, daemon and database
NEXT
else
  step "10. Take it all away"
  run pool delete web --yes
  run down
  step "Done. The image and its history stay in $IMAGO_HOME; next time the build takes a second."
  echo "Go on with --keep and \`imago node shell\`, or with docs/tutorial.md."
fi
