# The quickstart with Kubernetes nodes. Sourced by ./quickstart.
node "$root/scripts/get-tools.ts" disk
node "$root/scripts/build-agent.ts"

here="$root/examples/cluster"
kubernetes=1.36.3
etcd=3.7.3
cache=$(node "$root/scripts/get-kubernetes.ts" --cache)
if [ ! -e "$(echo "$cache/$etcd"/*/etcd)" ] && [ -z "${IMAGO_KUBERNETES:-}" ]; then
  if ! PATH="$PATH:/usr/local/go/bin" command -v go >/dev/null; then
    echo "error: Kubernetes $kubernetes is compiled from source, and there is no Go here" >&2
    echo "hint: Install a current Go from go.dev, name a directory with the programs in IMAGO_KUBERNETES, or run ./quickstart without --kubernetes" >&2
    exit 2
  fi
  echo "Kubernetes $kubernetes and etcd $etcd are compiled now, once: about 15 minutes on 2 cores that are idle."
  echo "./quickstart without --kubernetes shows everything else immediately."
fi
programs=(--program kubelet --program kubectl --program kube-apiserver --program kube-controller-manager --program kube-scheduler)
node "$root/scripts/get-kubernetes.ts" "$kubernetes" "${programs[@]}" --link "$root/examples/node/kubernetes" >/dev/null
node "$root/scripts/get-kubernetes.ts" "$etcd" --program etcd >/dev/null
node "$root/scripts/node-images.ts" "$kubernetes" "$here/images"

kubectl() {
  echo "\$ kubectl $*"
  "$cache/$kubernetes"/*/kubectl --kubeconfig "$IMAGO_HOME/control-plane/pki/admin.kubeconfig" "$@"
}

# Runs a script on a node, as administrators do it: in a pod that has the disk of the node.
on_node() {
  kubectl delete pod patch --ignore-not-found >/dev/null
  kubectl apply -f - >/dev/null <<POD
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "patch"}, "spec": {
  "nodeName": "$1", "restartPolicy": "Never", "automountServiceAccountToken": false,
  "containers": [{"name": "patch", "image": "localhost/busybox:1", "imagePullPolicy": "Never",
    "command": ["/bin/busybox", "chroot", "/host", "sh", "-ec", $(node -p 'JSON.stringify(process.argv[1])' "$2")],
    "securityContext": {"privileged": true}, "volumeMounts": [{"name": "host", "mountPath": "/host"}]}],
  "volumes": [{"name": "host", "hostPath": {"path": "/"}}]}}
POD
  kubectl wait pod/patch --for=jsonpath='{.status.phase}'=Succeeded --timeout=20m
  kubectl delete pod patch >/dev/null
  kubectl annotate node "$1" --overwrite "imago.dev/patched-at=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
}

nodes() { kubectl get nodes -L imago.dev/image,imago.dev/version; }

step "1. Start the daemon, and a Kubernetes control plane on this host"
run up --provider local
run cluster up --version "$kubernetes"

step "2. Build an image with a kubelet, a workload on its disk, and let pools have it"
run build "$here/imago.yaml" --files "$cache"
version=$("$imago" image list cluster-node -o name | head -n 1)
run channel promote "$version" --to staging --reason "quickstart"

step "3. Three nodes, which join automatically"
if "$imago" pool show web -q >/dev/null 2>&1; then run pool delete web --no-drain --yes; fi
run pool create web --image cluster-node:staging --nodes 3 --cluster local --size 2cpu-1g --node-config "$here/node.yaml"
nodes
kubectl apply -f "$here/workload.yaml"
kubectl rollout status deployment/hello --timeout=20m
kubectl get pods -o wide
mapfile -t names < <("$imago" node list --pool web -o name)

step "4. Patch one node while it runs, and capture it: its pods move, and it comes back"
run image outdated "$version" || true
on_node "${names[0]}" 'echo patched >/etc/quickstart-patch'
run capture web --node "${names[0]}" --min-ready 10s --ready-timeout 1h
run pool show web

step "5. A new node starts patched"
run pool scale web --nodes 4
nodes
good=$("$imago" image list web-prototype -o name | head -n 1)
run image diff "$version" "$good"
run image outdated "$good" || true

step "6. A bad prototype: its clones cannot start their kubelet. The rollout stops at the canaries, and goes back"
# It starts on its donor and on the machines of tests, so that nothing but the rollout notices it.
bad="[Service]
ExecStartPre=/bin/grep -qxE 'test-.*|${names[1]}' /etc/hostname"
on_node "${names[1]}" "mkdir -p /etc/systemd/system/kubelet.service.d
cat >/etc/systemd/system/kubelet.service.d/bad.conf <<'END'
$bad
END"
run capture web --node "${names[1]}" --min-ready 10s --ready-timeout 1h
run rollout start web --bake 10s && { echo "error: the bad prototype was not noticed" >&2; exit 1; }
run rollout status web || true
nodes
kubectl rollout status deployment/hello --timeout=20m

if [ "$keep" = yes ]; then
  step "Done. The nodes and the cluster run; what to try next"
  cat <<NEXT
  export IMAGO_HOME=$IMAGO_HOME PATH=$root/bin:\$PATH
  export KUBECONFIG=$IMAGO_HOME/control-plane/pki/admin.kubeconfig
  $(ls "$cache/$kubernetes"/*/kubectl) get nodes -L imago.dev/version
  imago pool show web                               # what new nodes start from, and why
  imago down                                        # stop machines, cluster, daemon, and database
NEXT
else
  step "7. Take it all away"
  run pool delete web --no-drain --yes
  run cluster down --erase --yes
  run down
  step "Done. The image and its history stay in $IMAGO_HOME."
  echo "Go on with --keep, or with docs/tutorial.md."
fi
