# The quickstart on simulated machines. Sourced by ./quickstart.
step "1. Start the daemon with the simulated provider"
run up --provider sim

step "2. Build a recipe into a sealed candidate"
run build "$root/examples/first/imago.yaml"
version=$("$imago" image list first-node -o name | head -n 1)

step "3. Test it on two fresh machines"
run test "$version"

step "4. Promote it: staging, then production"
run channel promote "$version" --to staging --reason "quickstart"
run channel promote "$version" --to production --reason "quickstart: tests passed on this digest"

step "5. A pool of three nodes that follows production"
"$imago" pool show web -q >/dev/null 2>&1 && run pool delete web --yes
run pool create web --image first-node:production --nodes 3

step "6. Which version was each node made from, and which move of the channel answered?"
for node in $("$imago" node list --pool web -o name); do run node which "$node"; done

step "Done. What to try next"
cat <<NEXT
  export IMAGO_HOME=$IMAGO_HOME PATH=$root/bin:\$PATH
  imago node list                                   # the nodes
  imago pool scale web --nodes 5                    # more of them
  imago sim fault add pools.setCapacity fails       # order a fault, scale again, watch it undo
  imago op list                                     # everything that ran; op show, op watch, op retry
  imago channel history first-node                  # every move, kept for ever
  imago down                                        # stop the daemon and its database
NEXT
