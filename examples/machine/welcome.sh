#!/bin/sh
echo "this image was built on a machine"
