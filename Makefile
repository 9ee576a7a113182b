# SPDX-License-Identifier: GPL-2.0
# Each target is one call of a script in stack/; 'stack/NAME --help' tells more.
#
# Options by variable: NODES= CPUS= MEM= DIST= ACCEL= CMD= for run and shell, ACCEL= for the tests,
# ARGS= for further options of the script. KSRC= names another linux-6.12.y tree as the base.
# SET= JOBS= PUBLISH=1 for bench; A= B= (kernel images or commits) SET= SEEDS= JOBS= for compare.

NODES ?=
CPUS ?=
MEM ?=
DIST ?=
ACCEL ?=
CMD ?=
ARGS ?=
SET ?= quick
SEEDS ?=
JOBS ?=
PUBLISH ?=
A ?=
B ?=
export CMD KSRC

machine := $(if $(NODES),--nodes $(NODES)) $(if $(CPUS),--cpus $(CPUS)) \
	   $(if $(MEM),--mem $(MEM)) $(if $(DIST),--dist '$(DIST)')
accel := $(if $(ACCEL),--accel $(ACCEL))
bench := --set $(SET) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(JOBS),--jobs $(JOBS))

.DEFAULT_GOAL := help
.NOTPARALLEL:

help: ## this list
	@echo 'Automatic NUMA balancing for Linux 6.12, as a stack of patches.'
	@echo
	@sed -n 's/^\([a-z-]*\):.* ## /\1:/p' Makefile | \
		while IFS=: read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done
	@echo
	@echo 'Variables: NODES=4 CPUS=8 MEM=4G DIST="0,2=30;1,3=30" ACCEL=tcg|mttcg|kvm CMD="..." KSRC=...'

run: ## build all, boot 8 CPUs on 4 nodes, show how memory and threads come together
	@stack/run $(machine) $(accel) $(ARGS)

test: ## all checks, and the selftests and KUnit suites in five guests
	@stack/packages
	@stack/test $(accel) $(ARGS)

test-debug: ## the same guests with lockdep, DEBUG_VM, kmemleak and more; slow
	@stack/packages
	@stack/test --guests-only --config debug --timeout 3600 $(accel) $(ARGS)

machine-test: ## the measuring machine measured: all of its validations, about six minutes
	@stack/packages
	@machine/tests/run.py $(ARGS)

bench: ## off, base, numab and pinned side by side: SET=quick (12 min), standard, full
	@stack/packages
	@machine/bench $(bench) $(if $(filter 1,$(PUBLISH)),--publish) $(ARGS)

compare: ## the same workloads on two kernels, A= and B=: images or commits
	$(if $(and $(A),$(B)),,$(error compare: name two kernel images or commits with A= and B=))
	@stack/packages
	@machine/compare $(bench) $(ARGS) '$(A)' '$(B)'

report: ## tables and pictures of the last benchmark again
	@machine/report $(ARGS)

shell: ## a prompt in the same guest
	@stack/prepare
	@stack/boot --topology mesh4 --append numa_balancing=enable --shell \
		$(machine) $(accel) $(ARGS)

kernel: ## apply what changed and build the guest's kernel
	@stack/packages
	@stack/sync
	@stack/build numab

guest: ## build the guest's image
	@stack/packages
	@stack/sync
	@machine/guest/mkimage

check: ## checks that need no guest: round trip, checkpatch, kernel-doc, sparse and more
	@stack/packages
	@stack/check $(ARGS)

series: ## build each commit with the option on and off; boot the first and the last
	@stack/prepare
	@stack/each-commit $(ARGS)

matrix: ## build the objects in many configurations: no NUMA, no SMP, i386, PREEMPT_RT, clang
	@stack/packages
	@stack/sync
	@stack/matrix $(ARGS)

apply: ## make build/linux: the base plus one commit per step of the series
	@stack/packages
	@stack/apply $(ARGS)

sync: ## bring build/linux up to this repository, keep what is edited there
	@stack/sync

export: ## write the commits of build/linux back into patches/ and the new files
	@stack/export $(ARGS)

mail: ## write the stack as mails for 'git am' into build/mail
	@stack/mail $(ARGS)

packages: ## install the Debian packages of packages.txt that are missing
	@stack/packages

clean: ## remove build/ except the base, the branch and the compiler cache
	@stack/clean

.PHONY: help run test test-debug machine-test bench compare report shell kernel guest check series \
	matrix apply sync export mail packages clean
